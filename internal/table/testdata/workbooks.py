"""Writes workbooks whose cells the tests know: python workbooks.py FOLDER

The files book-*.xlsx beside this one were made so, and are kept for machines without the
libraries. Made with openpyxl 3.1.5 and XlsxWriter 3.3.1."""
import datetime as dt, os, sys
import openpyxl, xlsxwriter
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont

WHEN = dt.datetime(2020, 1, 1)


def clinic(folder):
    """Kinds of cells, as openpyxl writes them."""
    book = openpyxl.Workbook()
    book.properties.created = book.properties.modified = WHEN
    sheet = book.active
    sheet.title = "Visits"
    sheet.append(["patient", "visit", "age", "share", "smoker", "seen at", "note", None, "score", "duration", "code"])
    sheet.append(["P01", dt.date(2021, 3, 24), 61, 0.125, True, dt.time(10, 30), CellRichText("plain ", TextBlock(InlineFont(b=True), "bold")), None, "=1+1", dt.timedelta(hours=36), "007"])
    sheet.append([None, dt.datetime(1999, 12, 31, 23, 59, 58), 58.5, 0.5, False, None, "line\nbreak & <é😀>", None, "#N/A", None, "12"])
    sheet.append([])
    sheet.append(["P02", dt.date(1900, 2, 28), None, -1e-9, None, None, "  ", None, "#DIV/0!", None, None])
    sheet.merge_cells("A2:A3")
    sheet["D2"].number_format = "0.0%"
    sheet["I3"].data_type = sheet["I5"].data_type = "e"
    sheet["J2"].number_format = "[h]:mm:ss"
    sheet["L9"].number_format = "0.00"  # a style, but no value
    hidden = book.create_sheet("Hidden", 0)
    hidden["A1"] = "no"
    hidden.sheet_state = "hidden"
    votes = book.create_sheet("Votes")
    votes["B3"], votes["C3"], votes["D3"] = "item", "rater", "label"
    for i, (item, rater, label) in enumerate([("P01", "x", "yes"), ("P01", "y", "no"), ("P02", "x", "no"), ("P02", "y", 3)]):
        votes.cell(5 + i, 2, item), votes.cell(5 + i, 3, rater), votes.cell(5 + i, 4, label)
    book.create_sheet("Empty")
    book.active = 1
    book.save(os.path.join(folder, "book-openpyxl.xlsx"))


def cached(folder):
    """Formulas with saved values, dates from 1904, texts in cells, and a title."""
    book = xlsxwriter.Workbook(os.path.join(folder, "book-xlsxwriter.xlsx"), {"date_1904": True})
    book.set_properties({"created": WHEN})
    sheet = book.add_worksheet("Data & more")
    date = book.add_format({"num_format": "d mmm yyyy"})
    money = book.add_format({"num_format": '#,##0.00 "days"'})
    sheet.merge_range("A1:D1", "Study of nodules")
    for col, name in enumerate(["id", "when", "cost", "risk"]):
        sheet.write(1, col, name)
    for row, (name, when, cost, risk) in enumerate([("a", dt.date(2021, 3, 24), 1234.5, "high"), ("b", dt.date(1904, 1, 2), 0, "low")]):
        sheet.write(2 + row, 0, name)
        sheet.write_datetime(2 + row, 1, when, date)
        sheet.write_number(2 + row, 2, cost, money)
        sheet.write_formula(2 + row, 3, '=IF(C%d>0,"high","low")' % (row + 3), None, risk)
    sheet.write_formula("C5", "=1/0", money, "#DIV/0!")
    sheet.write_boolean("D5", True)
    sheet.write("A5", "c")
    book.add_chartsheet("Chart")
    book.close()
    with xlsxwriter.Workbook(os.path.join(folder, "book-inline.xlsx"), {"constant_memory": True, "in_memory": False}) as book:
        book.set_properties({"created": WHEN})
        sheet = book.add_worksheet()
        for row in range(3):
            for col, value in enumerate([["id", "x"], ["u", 1], ["v", "2"]][row]):
                sheet.write(row, col, value)


if __name__ == "__main__":
    clinic(sys.argv[1])
    cached(sys.argv[1])
