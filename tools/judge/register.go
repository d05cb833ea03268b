package main

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// model is a register that has nothing at first.
var model = porcupine.Model{
	Init: func() any { return nil },
	Step: func(state, input, output any) (bool, any) {
		if value := input; value != nil {
			return true, value
		}
		return state == output, state
	},
}

// judgeRegister has Porcupine look for an order of the operations that explains every read; false where time ran out.
func judgeRegister(operations []*Operation, bound time.Duration) (*Finding, bool, error) {
	writes, err := written(operations)
	if err != nil {
		return nil, false, err
	}
	reads := okReads(operations)
	for _, read := range reads {
		if found := unfounded(read, writes); found != nil {
			return found, true, nil
		}
	}
	counted := effective(operations, writes)
	deadline := time.Now().Add(bound)
	switch linearizable(counted, bound) {
	case porcupine.Ok:
		return nil, true, nil
	case porcupine.Unknown:
		return nil, false, nil
	}
	smallest := shortest(counted, func(some []*Operation) bool {
		left := time.Until(deadline)
		return left > 0 && linearizable(some, left) == porcupine.Illegal
	})
	return named(smallest, reads, writes), true, nil
}

// effective leaves out what failed and what nobody can know of: an unknown write that no read saw.
func effective(operations []*Operation, writes map[int64]*Operation) []*Operation {
	seen := map[int64]bool{}
	for _, read := range okReads(operations) {
		for _, value := range read.numbers {
			seen[value] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(operations), func(one *Operation) bool {
		return one.Outcome == failed || one.Outcome == unknown && !(one.Op == "write" && seen[one.number])
	})
}

func linearizable(operations []*Operation, bound time.Duration) porcupine.CheckResult {
	seen := map[int64]int64{}
	for _, read := range operations {
		for _, value := range read.numbers {
			if first, known := seen[value]; !known || read.Returned < first {
				seen[value] = read.Returned
			}
		}
	}
	history := make([]porcupine.Operation, len(operations))
	for at, one := range operations {
		history[at] = porcupine.Operation{Call: one.Invoked, Return: one.end()}
		if one.Op == "write" {
			history[at].Input = one.number
			// Whatever came back of it: it had taken effect when it was read.
			if first, known := seen[one.number]; known {
				history[at].Return = min(one.end(), first)
			}
		} else if !one.isNull {
			history[at].Output = one.numbers[0]
		}
	}
	return porcupine.CheckOperationsTimeout(model, history, bound)
}

// shortest drops operations while what is left still contradicts itself: first the end, then whatever else can go.
// A write goes with the reads of its value, which nothing would explain without it.
func shortest(operations []*Operation, contradicts func([]*Operation) bool) []*Operation {
	units := together(operations)
	end := sort.Search(len(units), func(end int) bool { return contradicts(flat(units[:end+1])) })
	if end < len(units) {
		units = units[:end+1]
	}
	for size := max(len(units)/2, 1); ; {
		dropped := false
		for from := 0; from < len(units); {
			rest := slices.Concat(units[:from], units[min(from+size, len(units)):])
			if contradicts(flat(rest)) {
				units, dropped = rest, true
			} else {
				from += size
			}
		}
		if size == 1 && !dropped {
			break
		}
		size = max(size/2, 1)
	}
	return withoutSpareReads(flat(units), contradicts)
}

func withoutSpareReads(operations []*Operation, contradicts func([]*Operation) bool) []*Operation {
	sort.SliceStable(operations, func(i, j int) bool { return operations[i].Invoked < operations[j].Invoked })
	for at := len(operations) - 1; at >= 0; at-- {
		rest := slices.Delete(slices.Clone(operations), at, at+1)
		if operations[at].Op == "read" && contradicts(rest) {
			operations = rest
		}
	}
	return operations
}

// together gives each write with the reads of its value, and the reads of nothing one by one, in the order of their ends.
func together(operations []*Operation) [][]*Operation {
	var units [][]*Operation
	place := map[int64]int{}
	for _, one := range operations {
		if one.Op == "write" {
			place[one.number] = len(units)
			units = append(units, []*Operation{one})
		}
	}
	for _, one := range operations {
		if one.Op == "read" && one.isNull {
			units = append(units, []*Operation{one})
		} else if one.Op == "read" {
			at := place[one.numbers[0]]
			units[at] = append(units[at], one)
		}
	}
	sort.SliceStable(units, func(i, j int) bool { return units[i][0].Invoked < units[j][0].Invoked })
	return units
}

func flat(units [][]*Operation) []*Operation { return slices.Concat(units...) }

// named says what the part shows: a read of a value that another one had replaced by then, or reads that disagree.
func named(smallest, reads []*Operation, writes map[int64]*Operation) *Finding {
	ends := map[*Operation]int64{}
	for _, write := range writes {
		ends[write] = write.end()
	}
	for _, read := range reads {
		if !read.isNull {
			write := writes[read.numbers[0]]
			ends[write] = min(ends[write], read.Returned)
		}
	}
	for _, read := range okReads(smallest) {
		for _, newer := range smallest {
			if newer.Op != "write" || ends[newer] >= read.Invoked {
				continue
			}
			if !read.isNull && (read.numbers[0] == newer.number || ends[writes[read.numbers[0]]] >= newer.Invoked) {
				continue
			}
			kind, then := lost, "no later read has it"
			for _, later := range reads {
				if later.Returned > read.Returned && !later.isNull && later.numbers[0] == newer.number {
					kind, then = stale, "a later one has it"
				}
			}
			return &Finding{Kind: kind, Why: fmt.Sprintf("%d had taken effect when a read began that has what was there before, and %s", newer.number, then), Part: part(smallest...)}
		}
	}
	return &Finding{Kind: reordered, Why: "no order of the writes explains what these reads saw, one after the other", Part: part(smallest...)}
}
