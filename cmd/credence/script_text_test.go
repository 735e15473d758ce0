package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// makeTexts writes texts.csv, of items with a comment in one of four languages and
// a number, and votes.csv with three votes, no or yes, on each: yes the more
// often, the angrier the comment is.
//
//	maketexts 200
func makeTexts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: maketexts items")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	calm := [][]string{
		{"what", "a", "lovely", "day", "we", "had", "at", "the", "sea", "👍"}, {"يوم", "جميل", "عند", "البحر", "مع", "الأصدقاء"},
		{"今天", "天气", "很好", "我们", "去", "公园", "散步"}, {"see", "https://example.org/a", "for", "more", "of", "it", "<user>"},
	}
	angry := [][]string{
		{"you", "stupid", "liar", "shut", "up", "idiot", "🤬"}, {"أنت", "كاذب", "غبي", "اسكت"}, {"你", "这个", "骗子", "闭嘴"}, {"RT", "@someone", "stupid", "idiot"},
	}
	r := rand.New(rand.NewPCG(11, uint64(n)))
	var items, votes strings.Builder
	items.WriteString("item,comment,age\n")
	votes.WriteString("item,rater,label\n")
	for i := range n {
		language, anger := r.IntN(4), r.Float64()
		glue := " "
		if language == 2 {
			glue = ""
		}
		var list []string
		for range 6 + r.IntN(6) {
			from := calm[language]
			if r.Float64() < anger {
				from = angry[language]
			}
			list = append(list, from[r.IntN(len(from))])
		}
		fmt.Fprintf(&items, "i%d,\"%s\",%d\n", i, strings.Join(list, glue), 20+r.IntN(50))
		for k := range 3 {
			label := "no"
			if r.Float64() < anger {
				label = "yes"
			}
			fmt.Fprintf(&votes, "i%d,r%d,%s\n", i, k, label)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs("texts.csv"), []byte(items.String()), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("votes.csv"), []byte(votes.String()), 0o644))
}

// makeLong writes an item with a comment of a megabyte:
//
//	makelong file
func makeLong(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: makelong file")
	}
	text := "item,comment,age\nlong,\"" + strings.Repeat("stupid idiot, ", 1<<20/14) + "\",30\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}
