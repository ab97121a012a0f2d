// Reads the first messages of a queue from its Kafka topic; written from docs/topic-format.md alone.
//
// Usage: java -cp "target/dependency/*" TopicReader.java SERVERS QUEUE_MANAGER QUEUE COUNT SCHEMAS

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class TopicReader {
  static final int NEWEST = 7; // the version of the descriptor that this program knows

  public static void main(String[] arguments) throws IOException {
    if (arguments.length != 5) {
      System.err.println("usage: TopicReader SERVERS QUEUE_MANAGER QUEUE COUNT SCHEMAS");
      System.exit(2);
    }
    String topic = "mq." + escape(arguments[1], true) + ".q." + escape(arguments[2], false);
    int count = Integer.parseInt(arguments[3]);
    Path schemas = Path.of(arguments[4]);
    Map<Integer, List<String>> lanes = new TreeMap<>((a, b) -> b - a);
    Map<Integer, ByteArrayOutputStream> parts = new HashMap<>();
    try (var consumer = new KafkaConsumer<byte[], byte[]>(settings(arguments[0]))) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream()
              .map(one -> new TopicPartition(topic, one.partition()))
              .toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      for (int read = 0; read < count; ) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
          var body = parts.computeIfAbsent(record.partition(), n -> new ByteArrayOutputStream());
          if (read < count && join(record, body)) {
            String line = line(record, schemas, body.toByteArray());
            lanes.computeIfAbsent(record.partition(), n -> new ArrayList<>()).add(line);
            read++;
          }
        }
      }
    }
    lanes.values().forEach(lines -> lines.forEach(System.out::println));
  }

  static Properties settings(String servers) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", servers);
    settings.put("isolation.level", "read_committed");
    settings.put("enable.auto.commit", "false");
    settings.put("key.deserializer", ByteArrayDeserializer.class);
    settings.put("value.deserializer", ByteArrayDeserializer.class);
    return settings;
  }

  /** Writes a name in Kafka's alphabet; dots too if it is a queue manager's. */
  static String escape(String name, boolean dots) {
    StringBuilder escaped = new StringBuilder();
    name.codePoints()
        .forEach(
            letter ->
                escaped.append(
                    switch (letter) {
                      case '_' -> "-u";
                      case '/' -> "-s";
                      case '%' -> "-p";
                      case '.' -> dots ? "-o" : ".";
                      default -> Character.toString(letter);
                    }));
    return escaped.toString();
  }

  /** Adds a record to the body; whether it is complete. */
  static boolean join(ConsumerRecord<byte[], byte[]> record, ByteArrayOutputStream body) {
    Header chunk = record.headers().lastHeader("mqck");
    int index = 0;
    int count = 1;
    if (chunk != null) {
      ByteBuffer place = ByteBuffer.wrap(chunk.value());
      index = place.getInt();
      count = place.getInt();
    }
    if (index == 0) {
      body.reset();
    }
    body.writeBytes(record.value());
    return index == count - 1;
  }

  static String line(ConsumerRecord<byte[], byte[]> record, Path schemas, byte[] body)
      throws IOException {
    GenericRecord said = descriptor(record.headers().lastHeader("mqmd").value(), schemas);
    String text = new String(body, StandardCharsets.UTF_8);
    return String.format(
        "priority %s, seq %s, %s of %s in its unit: %s",
        said.get("priority"),
        said.get("seq"),
        (Integer) said.get("queue_unit_index") + 1,
        said.get("queue_unit_size"),
        body.length > 60 ? body.length + " bytes" : text);
  }

  /** A version byte, then Avro binary by the schema of that version. */
  static GenericRecord descriptor(byte[] header, Path schemas) throws IOException {
    int version = header[0];
    String file = version == NEWEST ? "descriptor.avsc" : "descriptor." + version + ".avsc";
    Schema schema = new Schema.Parser().parse(schemas.resolve(file).toFile());
    var decoder = DecoderFactory.get().binaryDecoder(header, 1, header.length - 1, null);
    return new GenericDatumReader<GenericRecord>(schema).read(null, decoder);
  }
}
