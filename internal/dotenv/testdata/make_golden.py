"""Writes golden.json: what Debian's python3-dotenv makes of cases.json.

Run by hand: /usr/bin/python3 make_golden.py. Tests need no Python.
"""

import io
import json
import logging
import pathlib

import dotenv

logging.disable(logging.CRITICAL)
here = pathlib.Path(__file__).parent
golden = {}
for case in json.loads((here / "cases.json").read_text()):
    # The file is opened as text, which makes one line end of three.
    text = case["in"].replace("\r\n", "\n").replace("\r", "\n")
    got = dotenv.dotenv_values(stream=io.StringIO(text), interpolate=False)
    golden[case["name"]] = {k: v for k, v in got.items()}
(here / "golden.json").write_text(json.dumps(golden, indent=1, ensure_ascii=True) + "\n")
