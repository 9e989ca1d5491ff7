"""The two stains of tiles in optical density, as Macenko et al. find them: doi:10.1109/ISBI.2009.5193250.

Optical densities of tissue are near a plane, and in it between the directions of the two stains. All of it is
calculated in float64. Sums over all pixels of a tile are in whole numbers, which give the same sum in any order: so a
tile gives the same bytes alone and in a batch.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import torch

#: Steps of an optical density in sums. 2 ** 16 keeps five digits, and the products of 4,096 x 4,096 px below 2 ** 63.
STEPS: Final = 2**16
#: The least width of a plane through colours, in parts of their spread squared. Below it they are on a line or point.
_FLAT: Final = 1e-9
#: Radians between two stains at least.
_APART: Final = 1e-3


def compute_stain_vectors(
    densities: torch.Tensor, whole: torch.Tensor, tissue: torch.Tensor, alpha: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return haematoxylin and eosin, [n, 3] each and of length 1, and whether each tile has two stains, [n].

    `densities` is [n, 3, pixels] float64, `whole` the same in int64 and `STEPS`, `tissue` [n, pixels] bool. `alpha` is
    the percentile of angles that a stain is taken at. Vectors of tiles without two stains mean nothing."""
    count = tissue.sum(dim=1)
    mean, covariance = _moments(whole * tissue[:, None], count)
    normal, plane = _normal(covariance)
    first = mean - normal * (mean * normal).sum(dim=1, keepdim=True)
    first = first / first.norm(dim=1, keepdim=True)
    second = torch.linalg.cross(normal, first)
    angles = torch.atan2(project(densities, second), project(densities, first))
    low, high = _percentiles(angles, tissue, count, (alpha, 100 - alpha))
    one, other = (first * torch.cos(angle) + second * torch.sin(angle) for angle in (low, high))
    # Haematoxylin takes more of the red.
    turned = (one[:, :1] <= other[:, :1]).expand_as(one)
    apart = (high - low)[:, 0] > _APART
    return torch.where(turned, other, one), torch.where(turned, one, other), plane & apart & (count > 1)


def sort_rows(values: torch.Tensor) -> torch.Tensor:
    """Sort each row of [n, pixels], ascending. On a CPU numpy's sort takes a tenth of the time of torch's."""
    if values.device.type == "cpu":
        return torch.from_numpy(np.sort(values.numpy(), axis=1))
    return values.sort(dim=1).values


def compute_percentile(ascending: torch.Tensor, count: torch.Tensor, percentile: float) -> torch.Tensor:
    """Return the percentile [n, 1] of the first `count` [n] values of each row, interpolated between two of them as
    numpy.percentile does."""
    place = (count - 1).clamp(min=0).double() * (percentile / 100)
    below = place.floor()
    low = ascending.gather(1, below.long()[:, None])
    high = ascending.gather(1, torch.minimum(below + 1, (count - 1).clamp(min=0).double()).long()[:, None])
    return low + (high - low) * (place - below)[:, None]


def _percentiles(
    values: torch.Tensor, taken: torch.Tensor, count: torch.Tensor, percentiles: tuple[float, float]
) -> tuple[torch.Tensor, torch.Tensor]:
    ascending = sort_rows(torch.where(taken, values, torch.inf))
    low, high = (compute_percentile(ascending, count, percentile) for percentile in percentiles)
    return low, high


def project(densities: torch.Tensor, axis: torch.Tensor) -> torch.Tensor:
    """Return the products [n, pixels] of [n, 3, pixels] and [n, 3], added from red to blue on every device."""
    red, green, blue = (densities[:, channel] * axis[:, channel, None] for channel in range(3))
    return red + green + blue


def _moments(whole: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the means [n, 3] and covariances [n, 3, 3] of the `count` pixels that count in [n, 3, pixels] int64, which
    holds zeros for the others."""
    number = count.clamp(min=1).double()[:, None]
    mean = whole.sum(dim=2).double() / number
    products = torch.stack(
        [(whole[:, one] * whole[:, other]).sum(dim=1) for one in range(3) for other in range(3)], dim=1
    )
    covariance = products.double() / number - torch.stack(
        [mean[:, one] * mean[:, other] for one in range(3) for other in range(3)], dim=1
    )
    return mean / STEPS, covariance.view(-1, 3, 3) / STEPS**2


def _normal(covariance: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the axis of least spread, [n, 3] of length 1, and whether the other two span a plane, [n].

    The least eigenvalue is the trigonometric solution of the characteristic cubic, the eigenvector the longest cross
    product of two rows (https://doi.org/10.1145/355578.366316). A library's eigensolver would wait for the device."""
    trace = covariance.diagonal(dim1=1, dim2=2).sum(dim=1)[:, None, None]
    scaled = covariance / trace.clamp(min=1e-30)
    unit = torch.eye(3, dtype=scaled.dtype, device=scaled.device)
    rest = scaled - unit / 3
    spread = ((rest * rest).sum(dim=(1, 2)) / 6).sqrt()[:, None, None].clamp(min=1e-30)
    half = (_determinant(rest / spread) / 2).clamp(-1, 1)
    least = 1 / 3 + 2 * spread[:, 0, 0] * torch.cos(torch.acos(half) / 3 + 2 * torch.pi / 3)
    rows = scaled - least[:, None, None] * unit
    crosses = torch.stack([torch.linalg.cross(rows[:, a], rows[:, b]) for a, b in ((0, 1), (0, 2), (1, 2))], dim=1)
    lengths = crosses.norm(dim=2)
    longest = lengths.max(dim=1)
    chosen = crosses.gather(1, longest.indices[:, None, None].expand(-1, 1, 3))[:, 0]
    length = longest.values[:, None]
    return chosen / length.clamp(min=1e-30), (length > _FLAT)[:, 0] & (trace[:, 0, 0] > 0)


def _determinant(matrix: torch.Tensor) -> torch.Tensor:
    """Return the determinants [n] of [n, 3, 3]."""
    return (matrix[:, 0] * torch.linalg.cross(matrix[:, 1], matrix[:, 2])).sum(dim=1)
