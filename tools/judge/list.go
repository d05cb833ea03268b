package main

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// judgeList looks for the gravest contradiction in what happened to one append list.
func judgeList(operations []*Operation) (*Finding, error) {
	appends, err := written(operations)
	if err != nil {
		return nil, err
	}
	reads := okReads(operations)
	for _, read := range reads {
		if found := unfounded(read, appends); found != nil {
			return found, nil
		}
	}
	for _, read := range reads {
		if found := repeated(read, appends); found != nil {
			return found, nil
		}
	}
	if found := missing(operations, reads, appends); found != nil {
		return found, nil
	}
	for _, read := range reads {
		if found := outOfOrder(read, appends); found != nil {
			return found, nil
		}
	}
	return disagreement(reads), nil
}

func okReads(operations []*Operation) []*Operation {
	var reads []*Operation
	for _, operation := range operations {
		if operation.Op == "read" && operation.Outcome == ok {
			reads = append(reads, operation)
		}
	}
	return reads
}

// unfounded finds a value in a read that nobody can have put there before.
func unfounded(read *Operation, writes map[int64]*Operation) *Finding {
	for _, value := range read.numbers {
		write := writes[value]
		switch {
		case write == nil:
			return &Finding{Kind: phantom, Why: fmt.Sprintf("%d was read, and nobody wrote it", value), Part: part(read)}
		case write.Outcome == failed:
			return &Finding{Kind: phantom, Why: fmt.Sprintf("%d was read, whose write failed", value), Part: part(write, read)}
		case read.Returned < write.Invoked:
			return &Finding{Kind: phantom, Why: fmt.Sprintf("%d was read before anybody wrote it", value), Part: part(write, read)}
		}
	}
	return nil
}

func repeated(read *Operation, appends map[int64]*Operation) *Finding {
	seen := map[int64]bool{}
	for _, value := range read.numbers {
		if seen[value] {
			return &Finding{Kind: duplicated, Why: fmt.Sprintf("%d was appended once, and is in the list twice", value), Part: part(appends[value], read)}
		}
		seen[value] = true
	}
	return nil
}

// missing finds a read without a value that has to be in it: acknowledged, or seen, before the read began.
func missing(operations, reads []*Operation, appends map[int64]*Operation) *Finding {
	// Values and the operation that proves each there, in the order in which they are there for sure.
	type proof struct {
		value int64
		by    *Operation
	}
	var proofs []proof
	for _, operation := range operations {
		if operation.Op == "append" && operation.Outcome == ok {
			proofs = append(proofs, proof{operation.number, operation})
		}
	}
	seen := map[int64]*Operation{}
	for _, read := range reads {
		for _, value := range read.numbers {
			if first := seen[value]; first == nil || read.Returned < first.Returned {
				seen[value] = read
			}
		}
	}
	for value, read := range seen {
		if appends[value].Outcome != ok || read.Returned < appends[value].Returned {
			proofs = append(proofs, proof{value, read})
		}
	}
	sort.Slice(proofs, func(i, j int) bool {
		return proofs[i].by.Returned < proofs[j].by.Returned || proofs[i].by.Returned == proofs[j].by.Returned && proofs[i].value < proofs[j].value
	})
	for _, read := range reads {
		has := map[int64]bool{}
		for _, value := range read.numbers {
			has[value] = true
		}
		for _, proof := range proofs {
			if proof.by.Returned >= read.Invoked {
				break
			}
			if !has[proof.value] {
				return absent(proof.value, proof.by, read, reads)
			}
		}
	}
	return nil
}

// absent tells a value that a read did not show yet from one that is gone.
func absent(value int64, by, read *Operation, reads []*Operation) *Finding {
	had := "was acknowledged"
	if by.Op == "read" {
		had = "was read"
	}
	for _, later := range reads {
		if later.Returned > read.Returned && slices.Contains(later.numbers, value) {
			return &Finding{Kind: stale, Why: fmt.Sprintf("%d %s, a read that began afterwards did not have it, and a later one did", value, had), Part: part(by, read)}
		}
	}
	return &Finding{Kind: lost, Why: fmt.Sprintf("%d %s, and no read that began afterwards has it", value, had), Part: part(by, read)}
}

// outOfOrder finds a value that stands before one whose append was over when its own began.
func outOfOrder(read *Operation, appends map[int64]*Operation) *Finding {
	earliest := &Operation{Outcome: ok, Returned: math.MaxInt64}
	for _, value := range slices.Backward(read.numbers) {
		one := appends[value]
		if earliest.before(one) {
			return &Finding{Kind: reordered, Why: fmt.Sprintf("%d stands before %d, which was appended before it", value, earliest.number), Part: part(earliest, one, read)}
		}
		if one.end() < earliest.end() {
			earliest = one
		}
	}
	return nil
}

// disagreement finds two reads of which neither begins as the other does.
func disagreement(reads []*Operation) *Finding {
	byLength := slices.Clone(reads)
	sort.SliceStable(byLength, func(i, j int) bool { return len(byLength[i].numbers) < len(byLength[j].numbers) })
	for at := 1; at < len(byLength); at++ {
		shorter, longer := byLength[at-1], byLength[at]
		for position, value := range shorter.numbers {
			if longer.numbers[position] != value {
				return &Finding{Kind: reordered, Why: fmt.Sprintf("two reads have %d and %d at place %d", value, longer.numbers[position], position+1), Part: part(shorter, longer)}
			}
		}
	}
	return nil
}
