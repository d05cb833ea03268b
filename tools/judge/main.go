// Judge says of histories whether a database did what it said: nothing lost, duplicated, reordered, stale or made up.
//
// It shares no code with what writes them: docs/histories.md has their format, and how to read a verdict.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Exit statuses, beside 0 where every history is right.
const (
	isWrong     = 1
	isUnusable  = 2
	isUndecided = 3
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(arguments []string, out, errors io.Writer) int {
	flags := flag.NewFlagSet("judge", flag.ContinueOnError)
	flags.SetOutput(errors)
	asJSON := flags.Bool("json", false, "one verdict a line, for programs")
	bound := flags.Duration("time", time.Minute, "how long one register may take")
	if flags.Parse(arguments) != nil {
		return isUnusable
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(errors, "error: name one or more histories")
		return isUnusable
	}
	status := 0
	for _, file := range flags.Args() {
		verdict, began, err := judged(file, *bound)
		if err != nil {
			fmt.Fprintf(errors, "error: %s: %v\n", file, err)
			return isUnusable
		}
		var text strings.Builder
		verdict.tell(&text, began)
		if verdict.Text = text.String(); *asJSON {
			json.NewEncoder(out).Encode(verdict)
		} else {
			fmt.Fprint(out, verdict.Text)
		}
		switch {
		case verdict.Verdict == wrong:
			status = isWrong
		case verdict.Verdict == undecided && status == 0:
			status = isUndecided
		}
	}
	return status
}

func judged(file string, bound time.Duration) (*Verdict, int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, 0, err
	}
	operations, err := parse(text)
	if err != nil {
		return nil, 0, err
	}
	verdict, err := judge(file, operations, bound)
	if err != nil || len(operations) == 0 {
		return verdict, 0, err
	}
	return verdict, operations[0].Invoked, nil
}
