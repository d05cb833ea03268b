package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The kind of the contradiction in each hand-made history, and the ids of the shortest part that has it.
var handMade = map[string]struct {
	kind string
	part []int64
}{
	"bank-below-zero":                 {broken, []int64{3}},
	"bank-broken":                     {broken, []int64{1, 3}},
	"bank-right":                      {},
	"data-left":                       {},
	"data-lost":                       {lost, []int64{1, 2}},
	"list-duplicated":                 {duplicated, []int64{1, 3}},
	"list-lost":                       {lost, []int64{2, 4}},
	"list-lost-read-once":             {lost, []int64{2, 4}},
	"list-lost-unknown-seen":          {lost, []int64{3, 4}},
	"list-never-written":              {phantom, []int64{2}},
	"list-phantom":                    {phantom, []int64{2, 3}},
	"list-reordered":                  {reordered, []int64{3, 4}},
	"list-reordered-in-time":          {reordered, []int64{1, 2, 3}},
	"list-right":                      {},
	"list-stale":                      {stale, []int64{2, 3}},
	"list-unknown":                    {},
	"register-flicker":                {reordered, []int64{1, 2, 3, 5}},
	"register-lost":                   {lost, []int64{3, 4, 5}},
	"register-phantom":                {phantom, []int64{2, 3}},
	"register-reordered":              {reordered, []int64{1, 2, 3, 4, 5}},
	"register-right":                  {},
	"register-stale":                  {stale, []int64{1, 3, 4}},
	"register-unknown-did-not-happen": {},
	"register-unknown-happened":       {},
	"register-unknown-then-gone":      {lost, []int64{1, 2, 3, 4}},
}

func TestEveryHandMadeHistoryIsJudged(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.jsonl")
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			verdict := judgedFile(t, file)
			if name == "nothing-read" {
				if verdict.Verdict != undecided {
					t.Fatalf("it is %s", verdict.Verdict)
				}
				return
			}
			expected, known := handMade[name]
			if !known {
				t.Fatal("nobody says what it is")
			}
			if expected.kind == "" {
				if verdict.Verdict != right {
					t.Fatalf("it is %s: %+v", verdict.Verdict, verdict.Findings[0])
				}
				return
			}
			if len(verdict.Findings) != 1 {
				t.Fatalf("it has %d findings", len(verdict.Findings))
			}
			found := verdict.Findings[0]
			if found.Kind != expected.kind || !slices.Equal(ids(found.Part), expected.part) {
				t.Fatalf("it is %s by %v: %s", found.Kind, ids(found.Part), found.Why)
			}
		})
	}
	if len(files) != len(handMade)+1 {
		t.Fatalf("there are %d histories, and %d expected verdicts", len(files), len(handMade)+1)
	}
}

func TestTheShortestPartOfALongHistoryIsFound(t *testing.T) {
	var operations []*Operation
	for at := int64(0); at < 300; at++ {
		write := &Operation{ID: 2 * at, Model: "register", Op: "write", number: at, Invoked: 100 * at, Returned: 100*at + 30, Outcome: ok}
		read := &Operation{ID: 2*at + 1, Model: "register", Op: "read", numbers: []int64{at}, Invoked: 100*at + 20, Returned: 100*at + 60, Outcome: ok}
		operations = append(operations, write, read)
	}
	operations[401].numbers = []int64{190}
	found, decided, err := judgeRegister(operations, time.Minute)
	if err != nil || !decided || found == nil {
		t.Fatal(found, decided, err)
	}
	if len(found.Part) != 3 || !slices.Contains(ids(found.Part), 380) || !slices.Contains(ids(found.Part), 401) {
		t.Fatalf("it is %v", ids(found.Part))
	}
}

func TestWhatIsNotDecidedInTimeIsNoSuccess(t *testing.T) {
	// Long enough for the time to be over before it is decided.
	var lines strings.Builder
	for id := range 20000 {
		fmt.Fprintf(&lines, `{"id": %d, "process": "p", "data": "d", "model": "register", "op": "write", "key": "x", "value": %d, "invoked": %d, "returned": %d, "outcome": "ok"}`+"\n", id, id, 2*id, 2*id+1)
	}
	path := filepath.Join(t.TempDir(), "many.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errors bytes.Buffer
	if status := run([]string{"-time", "1ns", path}, &out, &errors); status != isUndecided {
		t.Fatalf("status %d: %s%s", status, &out, &errors)
	}
	if !strings.Contains(out.String(), "undecided: register x: not decided within 1ns") {
		t.Fatal(out.String())
	}
}

func TestStatusAndTextSayWhatIsWrong(t *testing.T) {
	var out, errors bytes.Buffer
	if status := run([]string{"testdata/list-right.jsonl", "testdata/list-lost.jsonl"}, &out, &errors); status != isWrong {
		t.Fatalf("status %d: %s%s", status, &out, &errors)
	}
	for _, said := range []string{"lost: list l: 2 was acknowledged, and no read that began afterwards has it", "append 2: ok", "read -> [1 3]"} {
		if !strings.Contains(out.String(), said) {
			t.Errorf("no word of %q in\n%s", said, &out)
		}
	}
}

func TestAHistoryThatCannotBeReadIsRefused(t *testing.T) {
	line := `{"id":1,"process":"a","model":"register","op":"write","key":"x","value":1,"invoked":5`
	for text, said := range map[string]string{
		line + "}\nnonsense\n":                                                               "line 2: invalid character",
		line + `,"outcome":"perhaps"}` + "\n":                                                "none of ok, failed, unknown",
		line + `,"outcome":"ok","returned":4}` + "\n":                                        "before it was invoked",
		strings.Replace(line, "write", "erase", 1) + "}\n":                                   `model "register" has no operation "erase"`,
		line + "}\n" + strings.Replace(line, `"id":1`, `"id":2`, 1) + "}\n":                  "values must differ",
		`{"id":1,"model":"list","op":"read","invoked":1,"returned":2,"outcome":"ok"}` + "\n": "has what was read",
	} {
		file := filepath.Join(t.TempDir(), "history.jsonl")
		os.WriteFile(file, []byte(text), 0o600)
		var out, errors bytes.Buffer
		if status := run([]string{file}, &out, &errors); status != isUnusable || !strings.Contains(errors.String(), said) {
			t.Errorf("status %d for %q: %s", status, said, &errors)
		}
	}
}

func TestALineThatWasBeingWrittenAndAnOperationThatNeverReturnedAreNoFault(t *testing.T) {
	text := `{"id":1,"process":"a","model":"list","op":"append","key":"l","value":1,"invoked":5}
{"id":2,"process":"a","model":"list","op":"read","key":"l","invoked":6}
{"id":2,"returned":9,"outcome":"ok","read":[1]}
{"id":1,"retur`
	operations, err := parse([]byte(text))
	if err != nil || len(operations) != 2 || operations[0].Outcome != unknown || operations[1].numbers[0] != 1 {
		t.Fatal(operations, err)
	}
	if verdict, err := judge("", operations, time.Minute); err != nil || verdict.Verdict != right {
		t.Fatal(verdict, err)
	}
}

func judgedFile(t *testing.T, file string) *Verdict {
	t.Helper()
	verdict, _, err := judged(file, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

func ids(part []*Operation) []int64 {
	var found []int64
	for _, operation := range part {
		found = append(found, operation.ID)
	}
	return found
}
