"""Faults of the libraries that build the site, each mended with what it says and why."""

from myst_nb.core import render


def whole_streams(outputs):
    """A cell's printed text in one piece for each stream.

    myst-nb's own function ends each message of the kernel with a line break, so a line that
    arrives in two messages is shown as two.
    """
    streams, kept = {}, []
    for output in outputs or []:
        name = output.get("name")
        if output["output_type"] == "stream" and name in streams:
            streams[name]["text"] += output["text"]
            continue
        if output["output_type"] == "stream":
            streams[name] = output
        kept.append(output)
    return kept


def setup(app):
    render.coalesce_streams = whole_streams
    return {"parallel_read_safe": True, "parallel_write_safe": True}
