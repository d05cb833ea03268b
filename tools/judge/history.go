package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"sort"
)

// Outcomes of an operation. One without an outcome is unknown: its client never wrote what came back.
const (
	ok      = "ok"
	failed  = "failed"
	unknown = "unknown"
)

// never is when an operation returned whose outcome is unknown: it may take effect at any later time.
const never = math.MaxInt64

// Operation is one operation of a client, as docs/histories.md describes a line of a history.
type Operation struct {
	ID       int64           `json:"id"`
	Process  string          `json:"process"`
	Data     string          `json:"data,omitempty"`
	Model    string          `json:"model"`
	Op       string          `json:"op"`
	Key      string          `json:"key,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	Invoked  int64           `json:"invoked"`
	Returned int64           `json:"returned,omitempty"`
	Outcome  string          `json:"outcome,omitempty"`
	Read     json.RawMessage `json:"read,omitempty"`

	number  int64   // what a write or append stores
	numbers []int64 // what was read, or a bank opened with
	isNull  bool    // whether nothing was read
}

// end is the latest time at which the operation can have taken effect.
func (o *Operation) end() int64 {
	if o.Outcome == unknown {
		return never
	}
	return o.Returned
}

// before says whether an operation was over when another one began.
func (o *Operation) before(other *Operation) bool { return o.end() < other.Invoked }

// kinds are the operations of each model, and whether they carry a value or, once they are ok, what was read.
var kinds = map[string]struct{ value, read bool }{
	"register write": {value: true},
	"register read":  {read: true},
	"list append":    {value: true},
	"list read":      {read: true},
	"bank open":      {value: true},
	"bank transfer":  {},
	"bank read":      {read: true},
	"data leave":     {},
}

// parse reads a history: JSON lines, of which a later one with the same id adds to the earlier one.
func parse(text []byte) ([]*Operation, error) {
	known := map[int64]*Operation{}
	lines := bytes.Split(text, []byte("\n"))
	// What stands behind the last line's end was being written when its writer was killed.
	for at, line := range lines[:len(lines)-1] {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var id struct{ ID *int64 }
		if err := json.Unmarshal(line, &id); err != nil {
			return nil, fmt.Errorf("line %d: %w", at+1, err)
		}
		if id.ID == nil {
			return nil, fmt.Errorf("line %d: it has no id", at+1)
		}
		operation := known[*id.ID]
		if operation == nil {
			operation = &Operation{}
			known[*id.ID] = operation
		}
		if err := json.Unmarshal(line, operation); err != nil {
			return nil, fmt.Errorf("line %d: %w", at+1, err)
		}
	}
	operations := make([]*Operation, 0, len(known))
	for _, operation := range known {
		if err := operation.check(); err != nil {
			return nil, fmt.Errorf("operation %d: %w", operation.ID, err)
		}
		operations = append(operations, operation)
	}
	sort.Slice(operations, func(i, j int) bool {
		one, other := operations[i], operations[j]
		return one.Invoked < other.Invoked || one.Invoked == other.Invoked && one.ID < other.ID
	})
	return operations, nil
}

func (o *Operation) check() error {
	kind, known := kinds[o.Model+" "+o.Op]
	switch {
	case !known:
		return fmt.Errorf("model %q has no operation %q", o.Model, o.Op)
	case o.Outcome == "":
		o.Outcome = unknown
	case o.Outcome != ok && o.Outcome != failed && o.Outcome != unknown:
		return fmt.Errorf("outcome %q is none of ok, failed, unknown", o.Outcome)
	}
	if o.Outcome != unknown && o.Returned < o.Invoked {
		return fmt.Errorf("it returned at %d, before it was invoked at %d", o.Returned, o.Invoked)
	}
	if kind.value {
		if o.Model == "bank" {
			return json.Unmarshal(o.Value, &o.numbers)
		}
		return json.Unmarshal(o.Value, &o.number)
	}
	if !kind.read || o.Outcome != ok {
		return nil
	}
	if len(o.Read) == 0 || string(o.Read) == "null" {
		o.isNull = true
		if o.Model == "register" {
			return nil
		}
		return fmt.Errorf("a read of a %s that is ok has what was read", o.Model)
	}
	if o.Model == "register" {
		o.numbers = make([]int64, 1)
		return json.Unmarshal(o.Read, &o.numbers[0])
	}
	return json.Unmarshal(o.Read, &o.numbers)
}

// written gives the writes or appends of an object by their values, which must differ: a read says by them what it saw.
func written(operations []*Operation) (map[int64]*Operation, error) {
	writes := map[int64]*Operation{}
	for _, operation := range operations {
		if operation.Op != "write" && operation.Op != "append" {
			continue
		}
		if earlier := writes[operation.number]; earlier != nil {
			return nil, fmt.Errorf("operations %d and %d both write %d to %s %s: values must differ",
				earlier.ID, operation.ID, operation.number, operation.Model, operation.Key)
		}
		writes[operation.number] = operation
	}
	return writes, nil
}
