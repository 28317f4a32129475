"""
Makes the files of this folder with other programs: each says "zanzibar" where its name says, or cannot be read.

    python3 -m venv v && v/bin/pip install reportlab==5.1.0 fpdf2==2.8.9 pypdf==7.1.1 pikepdf==10.18.0 \
        python-docx==1.2.0 openpyxl==3.1.5 python-pptx==1.0.2 odfpy==1.4.1 pillow==13.0.0
    v/bin/python tests/data/files/make-files.py          # LibreOffice's `soffice` must be on the path

`readable` holds what a reader has to find the word in, `unreadable` what it has to say that it cannot read. Tests need
the files alone, not this script. Everything in them is written here.
"""

import io
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

import docx
import fpdf
import odf.opendocument
import odf.text
import openpyxl
import pikepdf
import pptx
import pypdf
from PIL import Image, ImageDraw
from pikepdf import Array, Dictionary, Name, Stream, String
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen import canvas

HERE = os.path.dirname(os.path.abspath(__file__))
WORD = "zanzibar"
FONT = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"


def save(kind, name, data):
    path = os.path.join(HERE, kind, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


# --- PDF, by their writers ------------------------------------------------------------------------------------------


def reportlab_pdf(draw, **options):
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4, invariant=1, **options)
    draw(page)
    page.showPage()
    page.save()
    return out.getvalue()


def plain(page):
    page.drawString(72, 700, f"The trip goes to {WORD} in June.")


def embedded_font(page):
    pdfmetrics.registerFont(TTFont("Deja", FONT))
    page.setFont("Deja", 12)
    page.drawString(72, 700, f"Die Reise führt nach {WORD}.")


def form_field(page):
    page.drawString(72, 720, "Destination:")
    page.acroForm.textfield(name="destination", value=WORD, x=72, y=690, width=200, height=20)


def japanese(page):
    pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3"))
    page.setFont("HeiseiMin-W3", 12)
    page.drawString(72, 700, "東京 " + WORD)


def picture(page):
    image = Image.new("RGB", (400, 80), "white")
    ImageDraw.Draw(image).text((20, 20), WORD, fill="black")
    page.drawInlineImage(image, 72, 600)


def note(data):
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(data))
    from pypdf.annotations import FreeText

    writer.add_annotation(0, FreeText(text=f"Ask about {WORD}", rect=(72, 500, 300, 550)))
    return written(writer)


def written(writer):
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def make_pdfs():
    base = reportlab_pdf(plain, pageCompression=1)
    other = reportlab_pdf(lambda page: page.drawString(72, 700, "Nothing of note."), pageCompression=1)
    save("readable", "reportlab-plain.pdf", base)
    save("readable", "reportlab-ascii85.pdf", reportlab_pdf(plain, pageCompression=0))
    save("readable", "reportlab-embedded-font.pdf", reportlab_pdf(embedded_font, pageCompression=1))
    save("readable", "reportlab-form-field.pdf", reportlab_pdf(form_field, pageCompression=1))
    # Its map of characters is one of those that a reader has to bring along.
    save("unreadable", "reportlab-japanese-map.pdf", reportlab_pdf(japanese, pageCompression=1))
    save("unreadable", "reportlab-picture.pdf", reportlab_pdf(picture, pageCompression=1))

    text = fpdf.FPDF()
    text.add_page()
    text.set_font("helvetica", size=12)
    text.cell(text=f"The trip goes to {WORD} in June.")
    save("readable", "fpdf2-plain.pdf", bytes(text.output()))
    text = fpdf.FPDF()
    text.add_page()
    text.add_font("Deja", fname=FONT)
    text.set_font("Deja", size=12)
    text.multi_cell(0, text=f"Ünïcode: {WORD} ✓")
    save("readable", "fpdf2-unicode.pdf", bytes(text.output()))

    save("readable", "pypdf-note.pdf", note(other))
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(other))
    writer.add_attachment("a.txt", f"to {WORD}".encode())
    save("readable", "pypdf-attachment.pdf", written(writer))
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(other))
    writer.add_outline_item(title=f"About {WORD}", page_number=0)
    save("readable", "pypdf-bookmark.pdf", written(writer))
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(other))
    writer.add_metadata({"/Title": f"About {WORD}"})
    save("readable", "pypdf-title.pdf", written(writer))
    for kind, user in (("readable", ""), ("unreadable", "user")):
        with pikepdf.open(io.BytesIO(base)) as pdf:
            out = io.BytesIO()
            pdf.save(out, encryption=pikepdf.Encryption(owner="owner", user=user, R=6))
            save(kind, f"pikepdf-{'user' if user else 'owner'}-password.pdf", out.getvalue())
    with pikepdf.open(io.BytesIO(base)) as pdf:
        out = io.BytesIO()
        pdf.save(out, object_stream_mode=pikepdf.ObjectStreamMode.generate, linearize=True, deterministic_id=True)
        save("readable", "pikepdf-object-streams.pdf", out.getvalue())


# --- PDF, of forms that readers go wrong on ---------------------------------------------------------------------------


def raw_pdf(content_objects, contents, extra=(), font=None):
    """Objects as given, with a right table: `content_objects` are (dictionary, bytes) from number 6 on."""
    font = font or b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 4 0 R >> >> /Contents " + contents + b" >>"
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page, font, b"null"]
    for dictionary, data in content_objects:
        head = b"<< /Length %d " % len(data) + dictionary + b" >>\nstream\n"
        objects.append(head + data + b"\nendstream")
    objects += list(extra)
    out = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    table = b"".join(b"%010d 00000 n \n" % at for at in offsets)
    return out + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + (
        b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    )


SHOWN = b"BT /F1 12 Tf 72 700 Td (The trip goes to zanzibar in June.) Tj ET"


def predicted(data, columns=8):
    """PNG's filter "up" over rows, as writers of tables use it."""
    data += b" " * (-len(data) % columns)
    out, above = b"", bytes(columns)
    for at in range(0, len(data), columns):
        row = data[at : at + columns]
        out += b"\x02" + bytes((one - up) % 256 for one, up in zip(row, above))
        above = row
    return zlib.compress(out)


def lzw(data):
    """The plain form of LZW: a code for each byte, the table cleared before it grows."""
    bits = "".join("100000000" + format(one, "09b") for one in data) + "100000001"
    bits += "0" * (-len(bits) % 8)
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))


def unmapped_font():
    """A font by numbers of glyphs, without a map to letters, as `pdf.save` leaves it when the map is taken out."""
    text = fpdf.FPDF()
    text.add_page()
    text.add_font("Deja", fname=FONT)
    text.set_font("Deja", size=12)
    text.cell(text=f"to {WORD}")
    with pikepdf.open(io.BytesIO(bytes(text.output()))) as pdf:
        for item in pdf.objects:
            if isinstance(item, pikepdf.Dictionary) and item.get("/Type") == Name.Font and "/ToUnicode" in item:
                del item["/ToUnicode"]
        out = io.BytesIO()
        pdf.save(out, deterministic_id=True)
    return out.getvalue()


def make_forms():
    packed = zlib.compress(SHOWN)
    save("readable", "form-filter-by-reference.pdf", raw_pdf([(b"/Filter 7 0 R", packed)], b"6 0 R", [b"/FlateDecode"]))
    predictor = b"/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 8 >>"
    save("readable", "form-predictor.pdf", raw_pdf([(predictor, predicted(SHOWN))], b"6 0 R"))
    save("readable", "form-filter-escaped.pdf", raw_pdf([(b"/Filter /#46lateDecode", packed)], b"6 0 R"))
    first, second = b"BT /F1 12 Tf 72 700 Td [(The trip goes to zan)", b"-10 (zibar)] TJ ET"
    two = [(b"", first), (b"", second)]
    save("readable", "form-two-contents.pdf", raw_pdf(two, b"[6 0 R 7 0 R]"))
    save("readable", "form-lzw.pdf", raw_pdf([(b"/Filter /LZWDecode", lzw(SHOWN))], b"6 0 R"))
    save("readable", "form-outside-of-page.pdf", raw_pdf([(b"", SHOWN.replace(b"72 700", b"72 9000"))], b"6 0 R"))
    hidden = b"/F1 12 Tf BT 3 Tr 72 700 Td (zanzibar) Tj ET"
    save("readable", "form-invisible.pdf", raw_pdf([(b"", hidden)], b"6 0 R"))
    inner = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /Font << /F1 4 0 R >> >>"
    outer = raw_pdf([(b"", b"/X1 Do"), (inner, SHOWN)], b"6 0 R").replace(
        b"/Font << /F1 4 0 R >> >> /Contents", b"/XObject << /X1 7 0 R >> >> /Contents"
    )
    with pikepdf.open(io.BytesIO(outer)) as pdf:
        out = io.BytesIO()
        pdf.save(out, deterministic_id=True)
        save("readable", "form-inside-a-form.pdf", out.getvalue())
    save("unreadable", "form-unknown-filter.pdf", raw_pdf([(b"/Filter /ZonkDecode", packed)], b"6 0 R"))
    save("unreadable", "form-damaged-content.pdf", raw_pdf([(b"/Filter /FlateDecode", packed[:20] + b"\xff" * 20)], b"6 0 R"))
    save("unreadable", "form-cut-content.pdf", raw_pdf([(b"/Filter /FlateDecode", packed[:-30])], b"6 0 R"))
    save("readable", "form-no-font.pdf", raw_pdf([(b"", SHOWN.replace(b"/F1", b"/F9"))], b"6 0 R"))
    save("unreadable", "form-unmapped-font.pdf", unmapped_font())
    paths = b"0 0 m " + b" ".join(b"%d %d l" % (at * 7 % 600, at * 13 % 700) for at in range(60)) + b" f"
    save("unreadable", "form-drawn-letters.pdf", raw_pdf([(b"", paths)], b"6 0 R"))
    save("unreadable", "form-no-pages.pdf", b"%PDF-1.7\n1 0 obj << /Type /Nothing >> endobj\n%%EOF\n")


# --- Office -----------------------------------------------------------------------------------------------------------


def office():
    out = io.BytesIO()
    document = docx.Document()
    paragraph = document.add_paragraph("The trip goes to zan")
    paragraph.add_run("zi").bold = True
    paragraph.add_run("bar in June.")
    document.save(out)
    word = out.getvalue()
    save("readable", "python-docx.docx", word)

    out = io.BytesIO()
    book = openpyxl.Workbook()
    book.active["B2"] = f"to {WORD}"
    book.save(out)
    save("readable", "openpyxl.xlsx", out.getvalue())

    out = io.BytesIO()
    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[5])
    slide.shapes.title.text = f"About {WORD}"
    slides.save(out)
    save("readable", "python-pptx.pptx", small(out.getvalue()))

    out = io.BytesIO()
    text = odf.opendocument.OpenDocumentText()
    text.text.addElement(odf.text.P(text=f"The trip goes to {WORD}."))
    text.write(out)
    save("readable", "odfpy.odt", out.getvalue())
    return word


def small(data):
    """Without pictures and layouts that say nothing."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for info in source.infolist():
            if not info.filename.endswith((".jpeg", ".png")) and "slideLayout" not in info.filename:
                target.writestr(info, source.read(info))
    return out.getvalue()


def archives(word):
    """Documents that readers of archives do not agree about."""
    # Python's zipfile and python-docx open it; offsets are not moved.
    save("unreadable", "archive-prefixed.docx", b"PK\x03\x04" + b"\0" * 26 + word)
    empty = b"PK\x05\x06" + b"\0" * 18
    end = word.rfind(b"PK\x05\x06")
    commented = word[:end] + word[end : end + 20] + struct.pack("<H", len(empty)) + empty
    save("unreadable", "archive-end-in-comment.docx", commented)
    save("unreadable", "archive-bytes-behind.docx", word + b"more")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as target:
        target.writestr("a.txt", f"to {WORD} " * 20)
    save("unreadable", "archive-lzma.zip", out.getvalue())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("word/document.xml", '<!DOCTYPE w [<!ENTITY a "zan"><!ENTITY b "zibar">]><w:p>&a;&b;</w:p>')
    save("unreadable", "archive-entities.docx", out.getvalue())


class Unseekable(io.BytesIO):
    def seekable(self):
        return False

    def seek(self, *_):
        raise io.UnsupportedOperation()

    def tell(self):
        raise io.UnsupportedOperation()


def streamed():
    """Sizes stand behind the data, as writers do that cannot go back."""
    out = Unseekable()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("a.txt", f"to {WORD}")
        target.writestr("b.txt", "nothing")
    save("readable", "zipfile-streamed.zip", out.getvalue())


# --- LibreOffice ------------------------------------------------------------------------------------------------------


def libreoffice():
    with tempfile.TemporaryDirectory() as folder:
        def convert(name, text, target):
            source = os.path.join(folder, name)
            if text is not None:
                with open(source, "w", encoding="utf8") as file:
                    file.write(text)
            command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", target]
            subprocess.run([*command, "--outdir", folder, source], check=True, capture_output=True)
            extension = target.split(":")[0]
            with open(os.path.join(folder, f"{name.rsplit('.', 1)[0]}.{extension}"), "rb") as file:
                data = file.read()
            # Of the older forms of Office, which are no archives, letters of one byte are found.
            kind = "unreadable" if extension == "xls" else "readable"
            save(kind, f"libreoffice.{extension}", data)

        page = f"<html><body><p>The trip goes to zan<b>zibar</b> in <i>June</i>.</p></body></html>"
        for target in ("docx:MS Word 2007 XML", "odt:writer8", "doc:MS Word 97"):
            convert("page.html", page, target)
        with open(os.path.join(folder, "page.docx"), "wb") as file:
            with open(os.path.join(HERE, "readable", "python-docx.docx"), "rb") as source:
                file.write(source.read())
        convert("page.docx", None, "pdf:writer_pdf_Export")
        for target in ("xlsx:Calc MS Excel 2007 XML", "ods:calc8", "xls:MS Excel 97"):
            convert("table.csv", f"where,when\n{WORD},June\n", target)


make_pdfs()
make_forms()
document = office()
archives(document)
streamed()
libreoffice()
