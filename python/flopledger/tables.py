"""Tables of a report: rows as dictionaries, or as a data frame of pandas or polars."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

Row = dict[str, Any]
ROWS_SHOWN = 20
COLUMNS_SHOWN = 8


@dataclass(frozen=True)
class Column:
    key: str  # of a row
    title: str
    unit: str  # "ns", "bytes", "flop", "flop/s", "fraction" (0 to 1), "count", "text", ...

    @property
    def is_key(self) -> bool:
        """It names its row for programs."""
        return self.key == "key" or self.key.endswith("_key")


class Table(Sequence[Row]):
    """Rows in the order of the report. A cell that is not known is None; times are integers of nanoseconds."""

    def __init__(self, title: str, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        self.title = title
        self.columns = tuple(columns)
        self._rows = tuple(rows)

    @classmethod
    def of_json(cls, table: dict[str, Any] | None) -> Table:
        """Of a table as docs/formats/report-json.md has it; None gives one without rows."""
        if table is None:
            return cls("", (), ())
        columns = [
            Column(column["key"], column["title"], column["unit"]) for column in table["columns"]
        ]
        rows = [
            {
                "depth": row.get("depth", 0),
                **{column.key: row.get(column.key) for column in columns},
            }
            for row in table["rows"]
        ]
        return cls(table["title"], columns, rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        return self._rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"<Table {self.title!r}: {len(self)} rows of {', '.join(each.key for each in self.columns)}>"

    def row(self, **cells: Any) -> Row:
        """The first row that has these cells: `report.ledger.row(key="idle_data")`. KeyError where none has."""
        for row in self._rows:
            if all(row.get(key) == value for key, value in cells.items()):
                return row
        raise KeyError(", ".join(f"{key}={value!r}" for key, value in cells.items()))

    def to_dicts(self) -> list[Row]:
        return [dict(row) for row in self._rows]

    def to_dict_of_columns(self) -> dict[str, list[Any]]:
        return {column.key: [row[column.key] for row in self._rows] for column in self.columns}

    def to_pandas(self) -> Any:
        """A pandas.DataFrame; its `attrs["units"]` has the unit of each column. Needs pandas."""
        import pandas

        frame = pandas.DataFrame(self.to_dict_of_columns())
        frame.attrs["units"] = {column.key: column.unit for column in self.columns}
        return frame

    def to_polars(self) -> Any:
        """A polars.DataFrame. Needs polars."""
        import polars

        return polars.DataFrame(self.to_dict_of_columns(), strict=False)

    def _repr_html_(self) -> str:
        shown = [column for column in self.columns if not column.is_key][:COLUMNS_SHOWN]
        head = "".join(f"<th>{html.escape(column.title)}</th>" for column in shown)
        body = ""
        for row in self._rows[:ROWS_SHOWN]:
            cells = (cell_html(row, column, is_first=column is shown[0]) for column in shown)
            body += f"<tr>{''.join(cells)}</tr>"
        rest = len(self) - ROWS_SHOWN
        more = f"<p>{rest} more rows</p>" if rest > 0 else ""
        return (
            f"<table><caption>{html.escape(self.title)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{more}"
        )


def cell_html(row: Row, column: Column, is_first: bool) -> str:
    indent = f"padding-left:{1.2 * row.get('depth', 0):.1f}em;" if is_first else ""
    align = "left" if column.unit == "text" else "right"
    text = html.escape(format_value(row[column.key], column.unit))
    return f'<td style="{indent}text-align:{align}">{text}</td>'


def format_value(value: Any, unit: str) -> str:
    """For people: "1.25 ms", "45.1 %", "2.3 GiB"."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if unit == "ns":
        return scaled(value, 1000, ("ns", "us", "ms", "s"))
    if unit == "bytes":
        return scaled(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))
    if unit == "fraction":
        return f"{100 * value:.1f} %"
    if unit in ("flop", "flop/s", "bytes/s"):
        name = {"flop": "FLOP", "flop/s": "FLOP/s", "bytes/s": "B/s"}[unit]
        return scaled(value, 1000, tuple(prefix + name for prefix in ("", "k", "M", "G", "T", "P")))
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def scaled(value: float, step: int, units: Sequence[str]) -> str:
    size, at = abs(float(value)), 0
    while size >= step and at < len(units) - 1:
        size /= step
        at += 1
    number = f"{size:.0f}" if at == 0 else f"{size:.4g}" if size >= 1000 else f"{size:.3f}"
    return f"{'-' if value < 0 else ''}{number} {units[at]}"
