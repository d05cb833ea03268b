package main

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"time"
)

// Kinds of contradictions.
const (
	lost       = "lost"
	duplicated = "duplicated"
	reordered  = "reordered"
	stale      = "stale"
	phantom    = "phantom"
	broken     = "broken total"
)

// Verdicts.
const (
	right     = "right"
	wrong     = "wrong"
	undecided = "undecided"
)

// Finding is one contradiction, with the shortest part of the history that has it.
type Finding struct {
	Kind  string       `json:"kind"`
	Model string       `json:"model"`
	Data  string       `json:"data,omitempty"`
	Key   string       `json:"key,omitempty"`
	Why   string       `json:"why"`
	Part  []*Operation `json:"part"`
}

// Verdict is what the judge says of one history.
type Verdict struct {
	File       string         `json:"file"`
	Verdict    string         `json:"verdict"`
	Operations map[string]int `json:"operations"`
	Reads      int            `json:"reads"`
	Findings   []*Finding     `json:"findings"`
	Undecided  []string       `json:"undecided"`
	Text       string         `json:"text"`
}

// part gives operations in the order in which they began, each once.
func part(operations ...*Operation) []*Operation {
	sorted := slices.Clone(operations)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Invoked < sorted[j].Invoked })
	return slices.Compact(sorted)
}

type object struct{ model, data, key string }

// judge looks at every object of a history for itself, and at which data the operations were on.
func judge(file string, operations []*Operation, bound time.Duration) (*Verdict, error) {
	verdict := &Verdict{File: file, Verdict: right, Operations: map[string]int{ok: 0, failed: 0, unknown: 0}, Findings: []*Finding{}, Undecided: []string{}}
	var order []object
	objects := map[object][]*Operation{}
	for _, operation := range operations {
		verdict.Operations[operation.Outcome]++
		if operation.Model == "data" {
			continue
		}
		key := object{operation.Model, operation.Data, operation.Key}
		if objects[key] == nil {
			order = append(order, key)
		}
		objects[key] = append(objects[key], operation)
	}
	if found := judgeData(operations); found != nil {
		found.Model = "data"
		verdict.Findings = append(verdict.Findings, found)
	}
	for _, key := range order {
		verdict.Reads += len(okReads(objects[key]))
		found, decided, err := judgeObject(key.model, objects[key], bound)
		if err != nil {
			return nil, err
		}
		if found != nil {
			found.Model, found.Data, found.Key = key.model, key.data, key.key
			verdict.Findings = append(verdict.Findings, found)
		}
		if !decided {
			verdict.Undecided = append(verdict.Undecided, fmt.Sprintf("%s %s: not decided within %s", key.model, key.key, bound))
		}
	}
	if verdict.Reads == 0 {
		verdict.Undecided = append(verdict.Undecided, "nothing was read: there is nothing to judge by")
	}
	switch {
	case len(verdict.Findings) > 0:
		verdict.Verdict = wrong
	case len(verdict.Undecided) > 0:
		verdict.Verdict = undecided
	}
	return verdict, nil
}

func judgeObject(model string, operations []*Operation, bound time.Duration) (*Finding, bool, error) {
	switch model {
	case "register":
		return judgeRegister(operations, bound)
	case "list":
		found, err := judgeList(operations)
		return found, true, err
	default:
		return judgeBank(operations), true, nil
	}
}

const shown = 12

// tell writes a verdict for people; times are seconds since the first operation.
func (v *Verdict) tell(out io.Writer, began int64) {
	fmt.Fprintf(out, "%s: %s: %d operations ok, %d failed, %d unknown, %d reads\n",
		v.File, v.Verdict, v.Operations[ok], v.Operations[failed], v.Operations[unknown], v.Reads)
	for at, found := range v.Findings {
		if at == shown {
			fmt.Fprintf(out, "  and %d more\n", len(v.Findings)-at)
			break
		}
		fmt.Fprintf(out, "  %s: %s %s: %s\n", found.Kind, found.Model, found.Key, found.Why)
		for _, one := range found.Part {
			fmt.Fprintf(out, "    %6d  %s  %-10s %s\n", one.ID, span(one, began), one.Process, one.told())
		}
	}
	for _, reason := range v.Undecided {
		fmt.Fprintf(out, "  undecided: %s\n", reason)
	}
}

func span(one *Operation, began int64) string {
	from := time.Duration(one.Invoked - began).Seconds()
	if one.Outcome == unknown {
		return fmt.Sprintf("%10.4f s -          ? ", from)
	}
	return fmt.Sprintf("%10.4f s - %8.4f s", from, time.Duration(one.Returned-began).Seconds())
}

func (o *Operation) told() string {
	text := o.Op
	if len(o.Value) > 0 {
		text += " " + string(o.Value)
	}
	if o.Op == "read" && o.Outcome == ok {
		return text + " -> " + o.seen()
	}
	return text + ": " + o.Outcome
}

func (o *Operation) seen() string {
	if o.isNull {
		return "nothing"
	}
	if o.Model == "register" {
		return fmt.Sprint(o.numbers[0])
	}
	if len(o.numbers) <= shown {
		return fmt.Sprint(o.numbers)
	}
	return fmt.Sprintf("%d numbers, the last %v", len(o.numbers), o.numbers[len(o.numbers)-shown:])
}
