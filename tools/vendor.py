"""Fetch the third-party files of the site again, at their pinned versions: python tools/vendor.py

Needs npm, and `pip install fonttools brotli`. Commit what changes.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from fontTools import subset
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

OFFLINE = Path(__file__).parents[1] / "book/assets/offline"
TEMML = "temml@0.13.5"
FONTAWESOME = "@fortawesome/fontawesome-free@6.7.2"
STIX = "@fontsource/stix-two-math@5.3.0"
# Letters and signs that formulas use: ASCII, Greek, mathematical italics, operators, stretched fences.
MATH = [*range(32, 127), 0xA0, 0xB7, 0xD7, *range(0x391, 0x3D6), 0x210E, 0x2112, 0x211D, *range(0x1D434, 0x1D468)]
MATH += [*range(0x1D49C, 0x1D4D0), *range(0x1D6FC, 0x1D716), *range(0x2010, 0x2040), 0x2057, 0x2061, 0x2062, 0x2190]
MATH += [*range(0x2190, 0x2194), 0x21A6, *range(0x2200, 0x2270), 0x22A4, 0x22C5, 0x22EE, 0x22EF, 0x22F1]
MATH += [*range(0x239B, 0x23B4), 0x27E8, 0x27E9, 0x2308, 0x2309, 0x230A, 0x230B, 0x2032, 0x00B1, 0x2713]
# The theme's icons: arrows, list, search, download, edit, sun, moon, circles of the admonitions ...
ICONS = """
    f104 f105 f062 f03a f002 f019 f065 f15b f1c1 f042 f186 f185 f00d f107 f303 f0f3 f058 f06a f071 f35d
    f05a f0eb f010 f064 f057 f0c9 f077 f078 f054 f053 f02d f0c1 f192 f111 f055 f0a9 f0a8 f09a f24d f02f
    f12d f0d7
"""


def npm(spec, folder):
    """The unpacked package."""
    name = subprocess.run(
        ["npm", "pack", "--silent", spec], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()
    with tarfile.open(folder / name) as archive:
        archive.extractall(folder / name.removesuffix(".tgz"), filter="data")
    return folder / name.removesuffix(".tgz") / "package"


def cut(font, out, code_points, features):
    """A subset of a font, as woff2."""
    points = ",".join(f"U+{p:X}" for p in code_points)
    args = [str(font), f"--output-file={out}", "--flavor=woff2", f"--unicodes={points}", "--no-hinting"]
    subset.main([*args, "--desubroutinize", f"--layout-features={features}"])


def narrow_radicals(path):
    """Make each size of the root sign as wide as the smallest.

    Chromium reserves the width of the widest size after every root: a gap behind √d.
    """
    font = TTFont(path, recalcTimestamp=False)
    variants, glyphs = font["MATH"].table.MathVariants, font.getGlyphSet()
    root = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(font.getBestCmap()[0x221A])]
    sizes = [record.VariantGlyph for record in root.MathGlyphVariantRecord]
    sizes += [part.glyph for part in root.GlyphAssembly.PartRecords]
    width = font["hmtx"][sizes[0]][0]
    for name in sizes[1:]:
        squeeze, pen = width / font["hmtx"][name][0], TTGlyphPen(None)
        glyphs[name].draw(TransformPen(pen, (squeeze, 0, 0, 1, 0, 0)))
        font["glyf"][name] = pen.glyph()
        font["hmtx"][name] = (width, round(font["hmtx"][name][1] * squeeze))
    font.flavor = "woff2"
    font.save(path)


def main():
    OFFLINE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        temml, stix, icons = (npm(spec, Path(folder)) for spec in (TEMML, STIX, FONTAWESOME))
        shutil.copy(temml / "dist/temml.min.js", OFFLINE)
        shutil.copy(temml / "LICENSE", OFFLINE / "temml.LICENSE.txt")
        shutil.copy(stix / "LICENSE", OFFLINE / "stix-two-math.LICENSE.txt")
        cut(stix / "files/stix-two-math-latin-400-normal.woff2", OFFLINE / "stix-two-math.woff2", MATH, "ssty,dtls")
        narrow_radicals(OFFLINE / "stix-two-math.woff2")
        shutil.copy(icons / "LICENSE.txt", OFFLINE / "fontawesome.LICENSE.txt")
        points = [int(code, 16) for code in ICONS.split()]
        cut(icons / "webfonts/fa-solid-900.woff2", OFFLINE / "fontawesome-solid.woff2", points, "")
    files = sorted(p for p in OFFLINE.iterdir() if p.suffix in {".js", ".woff2"})
    sums = (f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in files)
    (OFFLINE / "SHA256SUMS").write_text("".join(sums))
    (OFFLINE / "VERSIONS").write_text(
        f"temml.min.js: npm {TEMML}, whole, MIT\n"
        f"stix-two-math.woff2: npm {STIX}, cut to formulas' signs, large roots made narrower, OFL-1.1\n"
        f"fontawesome-solid.woff2: npm {FONTAWESOME}, cut to the theme's icons, OFL-1.1\n"
    )


if __name__ == "__main__":
    sys.exit(main())
