package main

import "fmt"

// judgeBank looks for a read whose accounts do not add up to what they were opened with, or one below zero.
func judgeBank(operations []*Operation) *Finding {
	var opened *Operation
	for _, operation := range operations {
		if operation.Op == "open" {
			opened = operation
			break
		}
	}
	for _, read := range okReads(operations) {
		for account, balance := range read.numbers {
			if balance < 0 {
				return &Finding{Kind: broken, Why: fmt.Sprintf("account %d is at %d, and none may be below zero", account, balance), Part: part(read)}
			}
		}
		if opened == nil {
			opened = read
		}
		if len(read.numbers) != len(opened.numbers) || sum(read.numbers) != sum(opened.numbers) {
			return &Finding{Kind: broken, Why: fmt.Sprintf("%d accounts have %d in all, and %d had %d before",
				len(read.numbers), sum(read.numbers), len(opened.numbers), sum(opened.numbers)), Part: part(opened, read)}
		}
	}
	return nil
}

func sum(numbers []int64) int64 {
	total := int64(0)
	for _, number := range numbers {
		total += number
	}
	return total
}
