import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own client, for comparison: writes records of standard input to a topic, or reads a topic
 * to standard output.
 *
 * java Records.java produce SERVERS TOPIC [TRANSACTIONAL_ID SIZE], java Records.java consume SERVERS
 * TOPIC COUNT. A record is: partition or -1, time or -1 (8 bytes), key, value, the number of
 * headers, and name and value of each. Numbers have 4 bytes; a byte string is its length, or -1
 * for null, and its bytes. With a transactional id each transaction has SIZE records, and before it
 * the same records are written in one that is aborted.
 */
public class Records {
    public static void main(String[] args) throws Exception {
        if (args[0].equals("produce")) {
            produce(args);
        } else {
            consume(args[1], args[2], Integer.parseInt(args[3]));
        }
    }

    static void produce(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[1]);
        settings.put("max.request.size", "9000000");
        settings.put("linger.ms", "5");
        boolean inTransactions = args.length > 3;
        int size = inTransactions ? Integer.parseInt(args[4]) : Integer.MAX_VALUE;
        if (inTransactions) {
            settings.put("transactional.id", args[3]);
        }
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        while (in.available() > 0 || peek(in)) {
            records.add(readRecord(in, args[2]));
        }
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            if (inTransactions) {
                producer.initTransactions();
            }
            for (int at = 0; at < records.size(); at += size) {
                List<ProducerRecord<byte[], byte[]>> some =
                    records.subList(at, (int) Math.min((long) at + size, records.size()));
                if (inTransactions) {
                    producer.beginTransaction();
                    sendAll(producer, some);
                    producer.abortTransaction();
                    producer.beginTransaction();
                }
                sendAll(producer, some);
                if (inTransactions) {
                    producer.commitTransaction();
                }
            }
        }
    }

    static void sendAll(
            KafkaProducer<byte[], byte[]> producer, List<ProducerRecord<byte[], byte[]>> records) {
        for (ProducerRecord<byte[], byte[]> record : records) {
            producer.send(record);
        }
        producer.flush();
    }

    static boolean peek(DataInputStream in) throws IOException {
        in.mark(1);
        int next = in.read();
        in.reset();
        return next >= 0;
    }

    static ProducerRecord<byte[], byte[]> readRecord(DataInputStream in, String topic)
            throws IOException {
        int partition = in.readInt();
        long time = in.readLong();
        byte[] key = readBytes(in);
        byte[] value = readBytes(in);
        List<Header> headers = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
            String name = new String(readBytes(in), "UTF-8");
            headers.add(new RecordHeader(name, readBytes(in)));
        }
        Integer to = partition < 0 ? null : partition;
        return new ProducerRecord<>(topic, to, time < 0 ? null : time, key, value, headers);
    }

    static byte[] readBytes(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0) {
            return null;
        }
        byte[] found = new byte[length];
        in.readFully(found);
        return found;
    }

    static void consume(String servers, String topic, int count) throws IOException {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("isolation.level", "read_committed");
        settings.put("auto.offset.reset", "earliest");
        settings.put("fetch.max.bytes", "10000000");
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(
                    settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> places = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(
                one -> places.add(new TopicPartition(topic, one.partition())));
            consumer.assign(places);
            consumer.seekToBeginning(places);
            int found = 0;
            long deadline = System.currentTimeMillis() + 60_000;
            while (System.currentTimeMillis() < deadline && !(found >= count && isAtEnd(consumer))) {
                for (ConsumerRecord<byte[], byte[]> one : consumer.poll(Duration.ofMillis(200))) {
                    writeRecord(out, one);
                    found++;
                }
            }
        }
        out.flush();
    }

    static boolean isAtEnd(KafkaConsumer<byte[], byte[]> consumer) {
        Map<TopicPartition, Long> ends = consumer.endOffsets(consumer.assignment());
        for (Map.Entry<TopicPartition, Long> end : ends.entrySet()) {
            if (consumer.position(end.getKey()) < end.getValue()) {
                return false;
            }
        }
        return true;
    }

    static void writeRecord(DataOutputStream out, ConsumerRecord<byte[], byte[]> one)
            throws IOException {
        out.writeInt(one.partition());
        out.writeLong(one.timestamp());
        writeBytes(out, one.key());
        writeBytes(out, one.value());
        Header[] headers = one.headers().toArray();
        out.writeInt(headers.length);
        for (Header header : headers) {
            writeBytes(out, header.key().getBytes("UTF-8"));
            writeBytes(out, header.value());
        }
    }

    static void writeBytes(DataOutputStream out, byte[] bytes) throws IOException {
        out.writeInt(bytes == null ? -1 : bytes.length);
        if (bytes != null) {
            out.write(bytes);
        }
    }
}
