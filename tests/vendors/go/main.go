// Reads captures, one JSON object a line, and writes a verdict a line: {id, referee, deviations}. Bodies for Ollama are
// decoded into the types of its own client, which refuse fields that they do not know.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"

	"github.com/ollama/ollama/api"
)

type capture struct {
	ID       int             `json:"id"`
	Provider string          `json:"provider"`
	Body     json.RawMessage `json:"body"`
}

type verdict struct {
	ID         int      `json:"id"`
	Referee    string   `json:"referee"`
	Deviations []string `json:"deviations"`
}

const lineBytesMax = 64 * 1024 * 1024

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, lineBytesMax)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var one capture
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			panic(err)
		}
		if one.Provider != "ollama" {
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(one.Body))
		decoder.DisallowUnknownFields()
		var request api.ChatRequest
		deviations := []string{}
		if err := decoder.Decode(&request); err != nil {
			deviations = append(deviations, "/ "+err.Error())
		}
		if err := out.Encode(verdict{one.ID, "github.com/ollama/ollama/api", deviations}); err != nil {
			panic(err)
		}
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
}
