"""Results that took too long for a page: JSON files with the SHA-256 of their content.

Whatever is wrong with a file, the error names it.
"""

import hashlib
import io
import json
from pathlib import Path

import numpy as np


def digest(found):
    """SHA-256 of a result without its own digest, whatever the order of its names."""
    content = {name: value for name, value in found.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read(path):
    """The result in a file, as a dict.

    Raises FileNotFoundError if it is not there, ValueError if it is cut short or altered.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there; CONTRIBUTING.md says what makes it")
    found = named(path)
    if found.get("sha256") != digest(found):
        raise ValueError(f"{path} is cut short or altered: its SHA-256 differs")
    return found


def named(path):
    """The values of a JSON file by their names, a dict; ValueError if it is cut short or altered."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is cut short or altered, no whole JSON file: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path} is cut short or altered: it holds a {type(found).__name__}, no names")
    return found


def arrays(path, content=None):
    """The arrays of an .npz file by their names, of its content where that is read already.

    Raises ValueError if it is cut short or altered.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes() if content is None else content)) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # of zip, of zlib, of numpy: any that damage leads to
        raise ValueError(f"{path} is no .npz file: {error}") from None
