"""Texts as scanners, converters and viewers write them, by vendor, each with its source, and the scale in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsi.slide.scales.numbers import parse_positive
from wsi.slide.scales.texts import SCALE_TEXTS, ScaleText, read

APERIO = "Aperio Image Library v10.2.41\r\n46000x32914 [0,100 46000x32814] (256x256) JPEG/RGB Q=30|AppMag = 20|"
PHILIPS = '<Attribute Name="DICOM_PIXEL_SPACING" Group="0x0028" Element="0x0030" PMSVR="IDoubleArray">{}</Attribute>'
VIPS = '<property><name>openslide.mpp-{}</name>\n<value type="VipsRefString">{}</value></property>'

#: (text, source, across, down); source None: nothing in it counts
TEXTS = [
    (f"{APERIO}MPP = 0.4990|Left = 25.691574", "aperio", 0.499, 0.499),
    # openslide#134: a scanner in French
    (f"{APERIO}MPP = 0,500000|Left = 25,691574|Top = 23,449873", "aperio", 0.5, 0.5),
    # github.com/imi-bigpicture/opentile/blob/main/tests/test_metadata.py (Hamamatsu's export to SVS, Grundium, Tecmed)
    ("Aperio Image|AppMag = 20|MPP = 0,4533", "aperio", 0.4533, 0.4533),
    ("Aperio Image, Grundium Ocus\r\n|AppMag=20|MPP=0.24;Title=x", "aperio", 0.24, 0.24),
    (
        "Aperio Image Library v12.3.1 \r\n149949x66142 (256x256) J2K/KDU Q=50;Scan; Scan resolution 0.274 µm/Pix; "
        "Scan position X=26 mm;",
        "description",
        0.274,
        0.274,
    ),
    ("Aperio Leica Biosystems GT450 v1.0.1|AppMag = 40|MPP = 0.263592", "aperio", 0.263592, 0.263592),
    (f"{APERIO}MPP=.2527\n\n", "aperio", 0.2527, 0.2527),
    (f"{APERIO}mpp = 0.2527|x", "aperio", 0.2527, 0.2527),
    (f"{APERIO}MPP = 0.24 um|Left = 1", "aperio", 0.24, 0.24),
    (f"{APERIO}MPP = 2.5E-1|", "aperio", 0.25, 0.25),
    (f"{APERIO}MPP = 250 nm|", "aperio", 0.25, 0.25),
    (f"{APERIO}OriginalMPP = 0.3", None, 0, 0),
    (f"{APERIO}MPP = |Left = 2", None, 0, 0),
    (f"{APERIO}MPP = ..|", None, 0, 0),
    (f"{APERIO}MPP = 0|", None, 0, 0),
    (f"{APERIO}MPP = -0.25|", None, 0, 0),
    (f"{APERIO}MPP = NaN|", None, 0, 0),
    (f"{APERIO}MPP = 0.25 furlongs|", None, 0, 0),
    (f"{APERIO}MPP = 0.25, 0.5|", None, 0, 0),
    # The metadata of these vendors in github.com/imi-bigpicture/opentile/tree/main/opentile/formats
    (
        "Motic V1.0.0\r\n53046x51735 [0,0 53046x51735] [512x512] JPEG/RGB Q = 75|AppMag = 40|MPP = 0.260417|"
        "BackgroundColor = 16514557",
        "aperio",
        0.260417,
        0.260417,
    ),
    (
        "Mikroscan Image Structure\r\n26880x42240 [0, 0 26880x42240] (256x256) JPEG / RGB Q = 30|AppMag = 20|"
        "SL5 SERIAL # = 1053|Date = 09/26/19|Time = 09:57:06|MPP = 0.453023|",
        "aperio",
        0.453023,
        0.453023,
    ),
    ("68608x95232 (256x256) JPEG/RGB Q=80|3dh_PixelSizeX = 0.2325|3dh_PixelSizeY = 0.25|", "3dhistech", 0.2325, 0.25),
    ("3DHISTECH|3dh_PixelSizeX = 242534|3dh_PixelSizeY = 242534", None, 0, 0),
    ("Scan Size = 8.07x7.86 mm\r\nResolution = 0.40 um\r\nScan Started = 2017:09:29 14:45:38", "huron", 0.4, 0.4),
    ("Resolution = 300", None, 0, 0),
    # openslide.org/formats/ventana
    ('<iScan Magnification="40" ScanRes="0.2325" UnitNumber="BI10N0294"/>', "ventana", 0.2325, 0.2325),
    # openslide.org/formats/philips; libvips#1521
    (PHILIPS.format('"0.000226891" "0.000226907"'), "philips", 0.226907, 0.226891),
    (PHILIPS.format("&quot;0.00025&quot; &quot;0.00025&quot;"), "philips", 0.25, 0.25),
    # The profile in Akoya's descriptions, as STAMP reads it from OpenSlide's comment
    (
        '<ScanResolution ref="ref1">\n    <PixelSizeMicrons>0.25</PixelSizeMicrons>\n    <Magnification>40',
        "akoya",
        0.25,
        0.25,
    ),
    # pyvips#517
    (VIPS.format("x", "0.499") + VIPS.format("y", "0.5"), "libvips", 0.499, 0.5),
    (VIPS.format("x", "0.499"), None, 0, 0),
    # Micro-Manager
    ('{"PixelSizeUm": 0.65, "Width": 100}', "description", 0.65, 0.65),
    ("MicronsPerPixel: 0.5\n", "description", 0.5, 0.5),
    ("Physical Pixel Size X = 0.25 \\u00B5m; Physical Pixel Size Y = 0.5 \\u00b5m", "description", 0.25, 0.5),
    ("macro: 10 um/pixel; scan: 0.25 um/pixel", None, 0, 0),
]


def found(text: str) -> list[tuple[str, float, float]]:
    return [(row.source, *scale) for row in SCALE_TEXTS for scale in read(row, text)]


@pytest.mark.parametrize(("text", "source", "across", "down"), TEXTS)
def test_scale_in_the_text_of_a_vendor_is_read(text: str, source: str | None, across: float, down: float):
    expected = [] if source is None else [(source, pytest.approx(across), pytest.approx(down))]
    assert found(text)[:1] == expected


@pytest.mark.parametrize("row", SCALE_TEXTS, ids=lambda row: row.example)
def test_example_of_every_kind_of_text_is_read(row: ScaleText):
    assert [(across, down) for across, down in read(row, row.example)] == [(pytest.approx(0.25), pytest.approx(0.25))]


def test_every_different_scale_of_a_text_is_read_and_a_repeated_one_once():
    assert found("a|MPP = 0.25|MPP = 0.5|MPP = 0.250") == [("aperio", 0.25, 0.25), ("aperio", 0.5, 0.5)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ("0,5", 0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("+5e-1", 0.5),
        ("1,234", 1.234),
        ("1,234.5", 1234.5),
        ("1.234,5", 1234.5),
        ("1,234,567", 1234567.0),
        ("1.2.3", None),
        ("1.23,456.7", None),
        ("-1", None),
        ("0", None),
        ("1e999", None),
    ],
)
def test_number_is_read_with_a_decimal_point_or_comma(text: str, value: float | None):
    assert parse_positive(text) == value


@given(
    st.integers(50_000, 20_000_000).map(lambda millionths: millionths / 1e6),
    st.sampled_from([".", ","]),
    st.sampled_from(
        ["MPP = {}", "MPP={}", "mpp: {}", '"mpp": {}', "MPP = {} um", "MPP = {} µm/px", "MPP\t=\t{} microns"]
    ),
    st.sampled_from(["", "|", ";", "\r\n", "}"]),
    st.sampled_from(["{:f}", "{:.9e}", "{:+f}"]),
)
def test_scale_written_in_any_form_is_read_back(mpp: float, mark: str, form: str, end: str, digits: str):
    text = f"Vendor|{form.format(digits.format(mpp).replace('.', mark))}{end}"
    assert found(text)[0] == ("aperio", pytest.approx(mpp), pytest.approx(mpp))


@given(st.text(st.sampled_from("MPmp xyXY=:0123456789.,eE+-|;um/\"'<>{}\n\xb5")) | st.text())
def test_no_text_is_an_error_and_no_scale_in_it_is_below_zero(text: str):
    assert all(across > 0 and down > 0 for _, across, down in found(text))
