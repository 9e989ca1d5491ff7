"""The actions of the Basic Application Level Confidentiality Profile on the elements of a whole-slide image.

The profile keeps every attribute that its table does not list. Tessera removes those, too, unless `kept` names them: a
scanner can write a name into any of them. Source: PS3.15, annex E; types of attributes: PS3.3, A.32.8.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from wsi.slide.deidentification.dicom.profile_table import TAGS


class ProfileAction(Enum):
    REMOVE = auto()  #: X
    EMPTY = auto()  #: Z
    DUMMY = auto()  #: D
    UID = auto()  #: U


#: Attributes that a VL Whole Slide Microscopy Image must have with a value (type 1).
_WITH_VALUE: Final = frozenset(
    {
        0x0008_0023,  # ContentDate
        0x0008_002A,  # AcquisitionDateTime
        0x0008_0033,  # ContentTime
        0x0008_0070,  # Manufacturer
        0x0008_1090,  # ManufacturerModelName
        0x0018_1000,  # DeviceSerialNumber
        0x0018_1020,  # SoftwareVersions
        0x0040_0512,  # ContainerIdentifier
        0x0040_0551,  # SpecimenIdentifier
    }
)
#: Attributes that it must have, with or without a value (type 2).
_PRESENT: Final = frozenset(
    {
        0x0008_0020,  # StudyDate
        0x0008_0030,  # StudyTime
        0x0008_0050,  # AccessionNumber
        0x0008_0090,  # ReferringPhysicianName
        0x0010_0010,  # PatientName
        0x0010_0020,  # PatientID
        0x0010_0030,  # PatientBirthDate
        0x0010_0040,  # PatientSex
        0x0020_0010,  # StudyID
        0x0020_0011,  # SeriesNumber
        0x0020_0013,  # InstanceNumber
        0x0020_1040,  # PositionReferenceIndicator
        0x0040_0513,  # IssuerOfTheContainerIdentifierSequence
        0x0040_0518,  # ContainerTypeCodeSequence
        0x0040_0555,  # AcquisitionContextSequence
        0x0040_0562,  # IssuerOfTheSpecimenIdentifierSequence
        0x0040_0610,  # SpecimenPreparationSequence
    }
)
_LISTED: Final = {int(tag, 16): actions for actions, tags in TAGS.items() for tag in tags.split()}
_ALONE: Final = {"X": ProfileAction.REMOVE, "Z": ProfileAction.EMPTY, "D": ProfileAction.DUMMY, "U": ProfileAction.UID}


def is_listed(tag: int) -> bool:
    """Return whether the profile's table lists the attribute itself."""
    return tag in _LISTED


def find_action(tag: int) -> ProfileAction:
    """Return what happens to an element that `kept` does not name. Of several actions of the table, PS3.15 takes the
    one that the type of the attribute demands; private and unknown attributes are removed."""
    if tag >> 16 & 1:
        return ProfileAction.REMOVE
    actions = _LISTED.get(tag, "X/Z/D").split("/")
    if len(actions) == 1:
        return _ALONE[actions[0]]
    if tag in _WITH_VALUE and "D" in actions:
        return ProfileAction.DUMMY
    if tag in _PRESENT and "Z" in actions:
        return ProfileAction.EMPTY
    return _ALONE[actions[0]]
