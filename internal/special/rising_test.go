package special

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// TestRisingGolden compares with testdata/rising.txt (mpmath, 60 digits).
func TestRisingGolden(t *testing.T) {
	f, err := os.Open("testdata/rising.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var worst [2]float64
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		var a, s, lr, dd float64
		if _, err := fmt.Sscan(sc.Text(), &a, &s, &lr, &dd); err != nil {
			t.Fatalf("%q: %v", sc.Text(), err)
		}
		// ln Γ(a+s) − ln Γ(a) has zeros, near which the rounding of a and s
		// alone moves it by the derivative times an ulp: hence the scale.
		scale := math.Max(math.Abs(lr), s*(math.Abs(math.Log(a+s))+a*dd/s))
		e := math.Abs(LogRising(a, s)-lr) / scale
		if !(e <= 1e-14) {
			t.Errorf("LogRising(%v, %v) = %v, want %v (error %.1e)", a, s, LogRising(a, s), lr, e)
		}
		worst[0] = math.Max(worst[0], e)
		e = math.Abs(DigammaDiff(a, s)-dd) / dd
		if !(e <= 1e-14) {
			t.Errorf("DigammaDiff(%v, %v) = %v, want %v (error %.1e)", a, s, DigammaDiff(a, s), dd, e)
		}
		worst[1] = math.Max(worst[1], e)
	}
	t.Logf("largest errors %.1e, %.1e", worst[0], worst[1])
}

// TestRisingCrossover checks that the switch from the short sum to Stirling's
// series cannot be seen: across it both obey f(s+1) = f(s) + ln(a+s).
func TestRisingCrossover(t *testing.T) {
	for la := -20.0; la <= 20; la += 0.37 {
		a := math.Exp(la)
		for s := float64(ShortVotes) - 2; s < ShortVotes+3; s++ {
			got, want := LogRising(a, s+1), LogRising(a, s)+math.Log(a+s)
			if !(math.Abs(got-want) <= 1e-13*math.Max(math.Abs(want), 1)) {
				t.Errorf("a = %v: LogRising at %v is %v, by recurrence %v", a, s+1, got, want)
			}
			got, want = DigammaDiff(a, s+1), DigammaDiff(a, s)+1/(a+s)
			if !(math.Abs(got-want) <= 1e-13*want) {
				t.Errorf("a = %v: DigammaDiff at %v is %v, by recurrence %v", a, s+1, got, want)
			}
		}
	}
}

func TestRisingOutside(t *testing.T) {
	for _, c := range [][2]float64{{0, 1}, {-1, 1}, {1, -1}, {math.NaN(), 1}, {1, math.NaN()}} {
		if x := LogRising(c[0], c[1]); !math.IsNaN(x) {
			t.Errorf("LogRising(%v, %v) = %v, want NaN", c[0], c[1], x)
		}
		if x := DigammaDiff(c[0], c[1]); !math.IsNaN(x) {
			t.Errorf("DigammaDiff(%v, %v) = %v, want NaN", c[0], c[1], x)
		}
	}
	if LogRising(3, 0) != 0 || DigammaDiff(3, 0) != 0 {
		t.Error("no votes must give zero")
	}
}
