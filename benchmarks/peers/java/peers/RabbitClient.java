package peers;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.GetResponse;
import com.rabbitmq.client.MessageProperties;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * RabbitMQ's quorum queues. They take no transactions: what is put is confirmed message by message,
 * and what is acknowledged is not confirmed at all.
 */
final class RabbitClient implements Client {
  private final Connection connection;
  private final Channel channel;
  private final String queue;
  private final int unconfirmedMax;
  private final BlockingQueue<Delivery> delivered = new LinkedBlockingQueue<>();
  private final int prefetch;
  private int unconfirmed;
  private boolean consumes;
  private long received;

  /** prefetch: 0 to ask for each message. unconfirmedMax: put returns while there are fewer. */
  RabbitClient(int port, String queue, int prefetch, int unconfirmedMax) throws Exception {
    var factory = new ConnectionFactory();
    factory.setHost("127.0.0.1");
    factory.setPort(port);
    connection = factory.newConnection();
    channel = connection.createChannel();
    this.queue = queue;
    this.prefetch = prefetch;
    this.unconfirmedMax = unconfirmedMax;
    channel.queueDeclare(queue, true, false, false, Map.of("x-queue-type", "quorum"));
    channel.confirmSelect();
  }

  @Override
  public void put(int messages) throws Exception {
    for (int i = 0; i < messages; i++) {
      channel.basicPublish("", queue, MessageProperties.PERSISTENT_BASIC, BODY);
    }
    unconfirmed += messages;
    if (unconfirmed >= unconfirmedMax) {
      flush();
    }
  }

  @Override
  public void flush() throws Exception {
    channel.waitForConfirmsOrDie(WITHIN_MS);
    unconfirmed = 0;
  }

  @Override
  public void get(int messages) throws Exception {
    long tag = 0;
    for (int i = 0; i < messages; i++) {
      tag = prefetch > 0 ? delivery(WITHIN_MS).getEnvelope().getDeliveryTag() : response();
    }
    channel.basicAck(tag, true);
  }

  @Override
  public void putOne(byte[] body) throws Exception {
    channel.basicPublish("", queue, MessageProperties.PERSISTENT_BASIC, body);
    channel.waitForConfirmsOrDie(WITHIN_MS);
  }

  @Override
  public byte[] receive(int withinMs) throws Exception {
    Delivery one = delivery(withinMs);
    if (one == null) {
      return null;
    }
    received = one.getEnvelope().getDeliveryTag();
    return one.getBody();
  }

  @Override
  public void acknowledge() throws Exception {
    channel.basicAck(received, false);
  }

  private Delivery delivery(int withinMs) throws Exception {
    if (!consumes) {
      consumes = true;
      channel.basicQos(prefetch);
      channel.basicConsume(queue, false, (tag, one) -> delivered.add(one), tag -> {});
    }
    Delivery one = delivered.poll(withinMs, TimeUnit.MILLISECONDS);
    if (one != null && one.getBody().length != BODY.length) {
      throw new IllegalStateException("a body of " + one.getBody().length + " bytes");
    }
    return one;
  }

  private long response() throws Exception {
    while (true) {
      GetResponse one = channel.basicGet(queue, false);
      if (one != null) {
        return one.getEnvelope().getDeliveryTag();
      }
    }
  }

  @Override
  public void delete() throws Exception {
    channel.queueDelete(queue);
  }

  @Override
  public void close() throws Exception {
    connection.close();
  }
}
