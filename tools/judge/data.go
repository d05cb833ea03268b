package main

import "fmt"

// judgeData looks for operations on other data than before where nobody chose that: the data from before is gone.
func judgeData(operations []*Operation) *Finding {
	var newest *Operation
	left := false
	for _, operation := range operations {
		if operation.Model == "data" {
			left = true
			continue
		}
		if operation.Outcome != ok {
			continue
		}
		if newest != nil && operation.Data != newest.Data {
			if !left {
				return &Finding{Kind: lost, Why: fmt.Sprintf("the database has the data %s in the place of %s, and nobody chose that", operation.Data, newest.Data), Part: part(newest, operation)}
			}
			left = false
		}
		newest = operation
	}
	return nil
}
