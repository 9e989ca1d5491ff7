from collections.abc import Mapping, Sequence
from typing import IO, Self

from pyarrow import RecordBatch, Schema, Table

class ParquetWriter:
    def __init__(
        self,
        where: IO[bytes],
        schema: Schema,
        *,
        compression: str,
        compression_level: int,
        use_dictionary: bool | Sequence[str],
        use_byte_stream_split: bool | Sequence[str],
        write_statistics: bool | Sequence[str],
        write_page_index: bool,
    ) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: object) -> None: ...
    def write_batch(self, batch: RecordBatch, row_group_size: int) -> None: ...
    def add_key_value_metadata(self, key_value_metadata: Mapping[str, str]) -> None: ...

def read_table(source: object) -> Table: ...
