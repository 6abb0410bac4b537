"""Tables of the checker as HTML: a caption, header cells for both ways of reading, a frame that scrolls by keyboard."""

from html import escape

# Beside a table, so that it looks the same in JupyterLab and on the site. Ink is the page's.
STYLE = (
    "<style>"
    ".mha-table{overflow-x:auto;margin:8px 0}"
    ".mha-table table{display:table;width:auto;margin:0;border-collapse:collapse;color:inherit;"
    "font-size:.9em;line-height:1.4}"
    ".mha-table caption{caption-side:top;text-align:left;padding:2px 8px;color:inherit;font-weight:bold}"
    ".mha-table table :is(th,td){padding:3px 8px;text-align:left;vertical-align:top;white-space:normal;"
    "min-width:3em;max-width:24em;background:none;color:inherit;border:0;border-bottom:1px solid #8888}"
    ".mha-table table th[scope=row]{font-weight:normal;min-width:2em}"
    ".mha-table table th[scope=rowgroup]{padding-top:14px}"
    ".mha-table table th[scope=col]{vertical-align:bottom}"
    ".mha-table table td:last-child{min-width:10em}"
    ".mha-marks table{font-size:.82em}.mha-marks table :is(th,td),.mha-marks table td:last-child{min-width:0}"
    ".mha-marks table th[scope=row]{min-width:min(12em,34vw)}.mha-marks table th[scope=col]{max-width:9em}"
    ".mha-fold{margin:6px 0}.mha-fold summary{cursor:pointer}"
    "</style>"
)


class Sign(str):
    """A cell whose sign is read out as other words: Sign("✓", "all forms")."""

    def __new__(cls, sign, spoken):
        cell = super().__new__(cls, sign)
        cell.spoken = spoken
        return cell


def table(caption, head, groups, *, marks=False):
    """A table; its first column names the rows. STYLE must stand beside it, once.

    Parameters
    ----------
    caption : what the table shows
    head : the columns' names
    groups : {title: rows}; a group with title "" has no line of its own; a cell is a string, or a Sign
    marks : narrow columns under long names
    """
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    bodies = "".join(_group(title, rows, len(head)) for title, rows in groups.items())
    frame = "mha-table mha-marks" if marks else "mha-table"
    return (
        f'<div class="{frame}" role="region" tabindex="0" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{columns}</tr></thead>{bodies}</table></div>"
    )


def _group(title, rows, width):
    line = f'<tr><th scope="rowgroup" colspan="{width}">{escape(title)}</th></tr>' if title else ""
    return f"<tbody>{line}{''.join(map(_row, rows))}</tbody>"


def _row(cells):
    first, *rest = map(_cell, cells)
    return f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'


def _cell(cell):
    if isinstance(cell, Sign):
        return f'<span role="img" aria-label="{escape(cell.spoken)}">{escape(cell)}</span>'
    return escape(str(cell))


def folded(summary, content):
    """HTML behind a line that unfolds it."""
    return f'<details class="mha-fold"><summary>{escape(summary)}</summary>{content}</details>'
