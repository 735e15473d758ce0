package table

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// readStyles finds out which styles show a number as a date or a time.
func (b *workbook) readStyles(part string) error {
	own := map[int]bool{} // formats of the workbook itself
	inCells := false      // the styles of cells, not those they are derived from
	return b.scan(part, func(x *xmlScanner) error {
		switch {
		case x.opens("numFmt"):
			if id, err := strconv.Atoi(x.attr("numFmtId")); err == nil {
				own[id] = isDateFormat(x.attr("formatCode"))
				return x.keep(64)
			}
		case x.opens("cellXfs"):
			inCells = true
		case x.closes("cellXfs"):
			inCells = false
		case inCells && x.opens("xf"):
			id, _ := strconv.Atoi(x.attr("numFmtId"))
			date, ok := own[id]
			if !ok {
				date = isDateID(id)
			}
			b.styles = append(b.styles, date)
			return x.keep(1)
		}
		return nil
	})
}

// isDateID reports whether a format that workbooks do not list is one of dates or times: 46
// is of durations, which are numbers.
func isDateID(id int) bool {
	return id >= 14 && id <= 22 || id >= 27 && id <= 36 || id == 45 || id == 47 || id >= 50 && id <= 58
}

// isDateFormat reports whether a format shows numbers as dates or times. Texts in quotes,
// characters behind \, _ and *, colors and conditions show nothing of the number; [h], [m] and
// [s] are of durations, which are numbers.
func isDateFormat(code string) bool {
	code, _, _ = strings.Cut(strings.ToLower(code), ";")
	duration := false
	plain := unshown.ReplaceAllStringFunc(code, func(part string) string {
		duration = duration || part[0] == '[' && slices.Contains([]string{"h", "m", "s"}, part[1:2]) &&
			strings.Trim(part[1:len(part)-1], part[1:2]) == ""
		return ""
	})
	hidden := duration || strings.Contains(plain, "[") || strings.Contains(plain, "general")
	return !hidden && strings.ContainsAny(plain, "ymdhs")
}

// unshown finds what of a format shows nothing of the number.
var unshown = regexp.MustCompile(`(?s)"[^"]*"|"|[\\_*].?|\[[^\]]*\]`)

// lastDate is the number of the last day of the year 9999.
const lastDate = 2958465

// dateText returns the date that a number stands for, as 2021-03-24 or, with a time of day,
// 2021-03-24T10:30:00; a number below 1 is a time alone. Workbooks count days from 1900, with
// a 29th of February in that year, or from 1904.
func dateText(v float64, from1904 bool) (string, bool) {
	if v < 0 || v > lastDate+1 {
		return "", false
	}
	seconds := math.Round(v * 86400)
	days := math.Floor(seconds / 86400)
	seconds -= days * 86400
	base := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case from1904:
		base = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case days < 60:
		base = base.AddDate(0, 0, 1)
	}
	at := base.AddDate(0, 0, int(days)).Add(time.Duration(seconds) * time.Second)
	switch {
	case days == 0 && (seconds > 0 || !from1904):
		return at.Format("15:04:05"), true
	case seconds == 0:
		return at.Format("2006-01-02"), true
	}
	return at.Format("2006-01-02T15:04:05"), true
}
