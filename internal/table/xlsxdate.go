package table

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// readStyles determines which styles display numbers as dates or times.
func (b *workbook) readStyles(part string) error {
	own := map[int]bool{} // formats defined by the workbook
	inCells := false      // within the styles of cells, not those they are derived from
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

// isDateID reports whether a built-in format, which workbooks do not list, is for dates or
// times. 46 is for durations, which are numbers.
func isDateID(id int) bool {
	return id >= 14 && id <= 22 || id >= 27 && id <= 36 || id == 45 || id == 47 || id >= 50 && id <= 58
}

// isDateFormat reports whether a format displays numbers as dates or times. Texts in quotes,
// characters after \, _ and *, colors and conditions are ignored. [h], [m] and [s] are for
// durations, which are numbers.
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

// unshown matches the parts of a format that do not display the number.
var unshown = regexp.MustCompile(`(?s)"[^"]*"|"|[\\_*].?|\[[^\]]*\]`)

// lastDate is the last day of the year 9999 as a number.
const lastDate = 2958465

// dateText converts a number to a date, as 2021-03-24 or, with a time of day,
// 2021-03-24T10:30:00. A number below 1 is only a time. Workbooks count days from 1900, with
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
