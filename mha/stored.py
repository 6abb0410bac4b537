"""Results that took too long for a page: JSON files that `make data` writes, with the SHA-256 of their content."""

import hashlib
import json
from pathlib import Path


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
        raise FileNotFoundError(f"{path} is not there; `make data` makes it")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is cut short or altered, no whole JSON file: {error}") from None
    if not isinstance(found, dict) or found.get("sha256") != digest(found):
        raise ValueError(f"{path} is cut short or altered: its SHA-256 differs")
    return found
