// Reads the first messages of a queue from its Kafka topic; written from docs/topic-format.md alone.
//
// Usage: go run . SERVERS QUEUE_MANAGER QUEUE COUNT SCHEMAS
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/kgo"
)

const newest = 7 // the version of the descriptor that this program knows

// descriptor has the fields that are shown; Avro skips the others.
type descriptor struct {
	Priority       int            `avro:"priority"`
	Seq            int64          `avro:"seq"`
	QueueUnitIndex int            `avro:"queue_unit_index"`
	QueueUnitSize  int            `avro:"queue_unit_size"`
	Properties     map[string]any `avro:"properties"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 6 {
		log.Fatal("usage: go run . SERVERS QUEUE_MANAGER QUEUE COUNT SCHEMAS")
	}
	topic := "mq." + escape(os.Args[2], true) + ".q." + escape(os.Args[3], false)
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Args[1], ",")...),
		kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)
	check(err)
	defer client.Close()

	var lanes [10][]string
	var parts [10][]byte
	for read := 0; read < count; {
		fetches := client.PollFetches(context.Background())
		for _, problem := range fetches.Errors() {
			check(problem.Err)
		}
		for _, record := range fetches.Records() {
			lane := record.Partition
			index, chunks := chunk(record)
			if index == 0 {
				parts[lane] = nil
			}
			parts[lane] = append(parts[lane], record.Value...)
			if index == chunks-1 && read < count {
				lanes[lane] = append(lanes[lane], line(record, parts[lane], os.Args[5]))
				read++
			}
		}
	}
	for lane := 9; lane >= 0; lane-- {
		for _, one := range lanes[lane] {
			fmt.Println(one)
		}
	}
}

// escape writes a name in Kafka's alphabet; dots too if it is a queue manager's.
func escape(name string, dots bool) string {
	pairs := []string{"_", "-u", "/", "-s", "%", "-p"}
	if dots {
		pairs = append(pairs, ".", "-o")
	}
	return strings.NewReplacer(pairs...).Replace(name)
}

// chunk says which part of its message a record is, from 0, and of how many.
func chunk(record *kgo.Record) (index, count int) {
	place := header(record, "mqck")
	if place == nil {
		return 0, 1
	}
	return int(binary.BigEndian.Uint32(place)), int(binary.BigEndian.Uint32(place[4:]))
}

func header(record *kgo.Record, key string) []byte {
	for _, one := range record.Headers {
		if one.Key == key {
			return one.Value
		}
	}
	return nil
}

// line reads the descriptor, a version byte and Avro binary by the schema of that version.
func line(record *kgo.Record, body []byte, schemas string) string {
	encoded := header(record, "mqmd")
	file := "descriptor.avsc"
	if encoded[0] != newest {
		file = fmt.Sprintf("descriptor.%d.avsc", encoded[0])
	}
	schema, err := avro.ParseFiles(filepath.Join(schemas, file))
	check(err)
	var said descriptor
	check(avro.Unmarshal(schema, encoded[1:], &said))
	text := string(body)
	if len(body) > 60 {
		text = fmt.Sprintf("%d bytes", len(body))
	}
	return fmt.Sprintf("priority %d, seq %d, %d of %d in its unit: %s",
		said.Priority, said.Seq, said.QueueUnitIndex+1, said.QueueUnitSize, text)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
