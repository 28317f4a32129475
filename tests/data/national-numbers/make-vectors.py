"""
Writes `vectors.json` beside it: numbers that python-stdnum (LGPL 2.1 or later) takes for valid, and numbers with one
digit or two changed that it does not. They are made at random here, by its rules.

    python3 -m venv v && v/bin/pip install python-stdnum==2.2 && v/bin/python tests/data/national-numbers/make-vectors.py
"""

import json
import os
import random
import string

from stdnum.au import tfn
from stdnum.be import bis, nn
from stdnum.br import cnpj, cpf
from stdnum.ca import sin
from stdnum.ch import ssn as ahv
from stdnum.cn import ric
from stdnum.de import idnr
from stdnum.es import dni, nie
from stdnum.fi import hetu
from stdnum.fr import nir
from stdnum.gb import nhs
from stdnum.in_ import aadhaar, pan
from stdnum.it import codicefiscale
from stdnum.kr import rrn
from stdnum.nl import bsn
from stdnum.no import fodselsnummer
from stdnum.pl import pesel
from stdnum.pt import nif
from stdnum.se import personnummer
from stdnum.tr import tckimlik
from stdnum.us import itin, ssn
from stdnum.za import idnr as za_id

random.seed(20261129)
COUNT = 40


def digits(count):
    return "".join(random.choice(string.digits) for _ in range(count))


def number(low, high, width):
    return str(random.randint(low, high)).zfill(width)


def day():
    return number(1, 28, 2)


def month():
    return number(1, 12, 2)


def alnum(count):
    return "".join(random.choice(string.digits + string.ascii_uppercase) for _ in range(count))


def completed(body, length, alphabet, is_valid, tail=""):
    """The body with the first check characters that make it valid."""
    from itertools import product

    for check in product(alphabet, repeat=length):
        value = body + "".join(check) + tail
        if is_valid(value):
            return value
    return None


def names(count):
    return "".join(random.choice("BCDFGLMNPRSTV") for _ in range(count))


def triple(value):
    return any(one * 3 in value[:10] for one in string.digits)


def known_place(value):
    """Its table of places has holes, over which it falls."""
    try:
        ric.get_birth_place(value)
        return True
    except Exception:
        return False


D, L = string.digits, string.ascii_uppercase
# By the guardrail's name: the rule, how many check characters end the number, of which alphabet, and the body.
KINDS = {
    "US_SSN": (ssn.is_valid, 0, D, lambda: f"{number(1, 665, 3)}-{number(1, 99, 2)}-{number(1, 9999, 4)}"),
    "US_ITIN": (itin.is_valid, 0, D, lambda: f"9{digits(2)}-{number(70, 88, 2)}-{digits(4)}"),
    "UK_NHS": (nhs.is_valid, 1, D, lambda: digits(9)),
    "ES_NIF": (dni.is_valid, 1, L, lambda: digits(8)),
    "ES_NIE": (nie.is_valid, 1, L, lambda: random.choice("XYZ") + digits(7)),
    "IT_FISCAL_CODE": (
        codicefiscale.is_valid, 1, L,
        lambda: f"{names(6)}{digits(2)}{random.choice('ABCDEHLMPRST')}{day()}{random.choice('AFHL')}{number(1, 999, 3)}",
    ),
    "FR_NIR": (nir.is_valid, 2, D, lambda: f"{random.choice('12')}{digits(2)}{month()}{number(1, 95, 2)}{digits(6)}"),
    # Its issuer rules out three equal digits in a row, python-stdnum does not.
    "DE_TAX_ID": (lambda one: idnr.is_valid(one) and not triple(one), 1, D, lambda: digits(10)),
    "NL_BSN": (bsn.is_valid, 1, D, lambda: digits(8)),
    "BE_NATIONAL_NUMBER": (nn.is_valid, 2, D, lambda: f"{number(20, 99, 2)}{month()}{day()}{number(1, 997, 3)}"),
    "BE_NATIONAL_NUMBER bis": (
        bis.is_valid, 2, D,
        lambda: f"{number(20, 99, 2)}{int(month()) + random.choice((20, 40))}{day()}{number(1, 997, 3)}",
    ),
    "PL_PESEL": (pesel.is_valid, 1, D, lambda: f"{digits(2)}{month()}{day()}{digits(4)}"),
    "PT_NIF": (nif.is_valid, 1, D, lambda: random.choice("123568") + digits(7)),
    "SE_PERSONNUMMER": (personnummer.is_valid, 1, D, lambda: f"{digits(2)}{month()}{day()}-{digits(3)}"),
    "FI_HETU": (hetu.is_valid, 1, D + L, lambda: f"{day()}{month()}{digits(2)}-{number(2, 899, 3)}"),
    "NO_FODSELSNUMMER": (fodselsnummer.is_valid, 2, D, lambda: f"{day()}{month()}{digits(2)}{number(0, 499, 3)}"),
    "NO_FODSELSNUMMER D": (
        fodselsnummer.is_valid, 2, D, lambda: f"{int(day()) + 40}{month()}{digits(2)}{number(0, 499, 3)}",
    ),
    "CH_AHV": (ahv.is_valid, 1, D, lambda: "756" + digits(9)),
    "TR_TCKN": (tckimlik.is_valid, 2, D, lambda: random.choice("123456789") + digits(8)),
    "BR_CPF": (cpf.is_valid, 2, D, lambda: digits(9)),
    "BR_CNPJ": (cnpj.is_valid, 2, D, lambda: digits(12)),
    "BR_CNPJ letters": (cnpj.is_valid, 2, D, lambda: alnum(12)),
    "CA_SIN": (sin.is_valid, 1, D, lambda: f"{random.choice('12345679')}{digits(2)}-{digits(3)}-{digits(2)}"),
    "IN_AADHAAR": (aadhaar.is_valid, 1, D, lambda: random.choice("23456789") + digits(10)),
    "IN_PAN": (pan.is_valid, 0, L, lambda: f"{names(3)}{random.choice('ABCFGHLJPT')}{names(1)}{number(1, 9999, 4)}{names(1)}"),
    "AU_TFN": (tfn.is_valid, 1, D, lambda: digits(8)),
    "CN_RESIDENT_ID": (
        lambda value: known_place(value) and ric.is_valid(value), 1, D + "X",
        lambda: f"{random.choice(('110101', '310115', '440305'))}{number(1950, 2010, 4)}{month()}{day()}{digits(3)}",
    ),
    "KR_RRN": (rrn.is_valid, 1, D, lambda: f"{number(40, 99, 2)}{month()}{day()}-{random.choice('12')}{number(0, 95, 2)}{digits(3)}"),
    "ZA_ID": (za_id.is_valid, 1, D, lambda: f"{number(40, 99, 2)}{month()}{day()}{digits(4)}{random.choice('01')}8"),
}


def changed(value):
    """One or two characters replaced by others of their kind."""
    out = list(value)
    for _ in range(random.choice((1, 2))):
        at = random.choice([at for at, one in enumerate(out) if one.isalnum()])
        out[at] = random.choice(D if out[at].isdigit() else L)
    return "".join(out)


vectors = {}
for kind, (is_valid, checks, alphabet, body) in KINDS.items():
    valid, invalid = [], []
    while len(valid) < COUNT:
        value = completed(body(), checks, alphabet, is_valid)
        if value is not None and value not in valid:
            valid.append(value)
    while len(invalid) < COUNT and checks > 0:
        value = changed(random.choice(valid))
        if not is_valid(value):
            invalid.append(value)
    vectors[kind] = {"valid": valid, "invalid": invalid}

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json"), "w", encoding="utf8") as file:
    json.dump(vectors, file, indent=1)
    file.write("\n")
