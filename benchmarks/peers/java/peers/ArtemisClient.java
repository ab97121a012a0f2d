package peers;

import org.apache.activemq.artemis.api.core.QueueConfiguration;
import org.apache.activemq.artemis.api.core.RoutingType;
import org.apache.activemq.artemis.api.core.SimpleString;
import org.apache.activemq.artemis.api.core.client.ActiveMQClient;
import org.apache.activemq.artemis.api.core.client.ClientConsumer;
import org.apache.activemq.artemis.api.core.client.ClientMessage;
import org.apache.activemq.artemis.api.core.client.ClientProducer;
import org.apache.activemq.artemis.api.core.client.ClientSession;
import org.apache.activemq.artemis.api.core.client.ClientSessionFactory;
import org.apache.activemq.artemis.api.core.client.ServerLocator;

/**
 * Artemis, by its own protocol: units are transactions, and a commit is waited for. Without
 * transactions a send is waited for, and an acknowledgement is not.
 */
final class ArtemisClient implements Client {
  private final boolean transacted;
  private final String queue;
  private final ServerLocator locator;
  private final ClientSessionFactory factory;
  private final ClientSession session;
  private final ClientProducer producer;
  private ClientConsumer consumer;
  private ClientMessage received;

  /** ahead: with the window of 1 MiB that is Artemis's default; else nothing is sent unasked. */
  ArtemisClient(int port, String queue, boolean ahead, boolean transacted) throws Exception {
    this.queue = queue;
    this.transacted = transacted;
    locator = ActiveMQClient.createServerLocator("tcp://127.0.0.1:" + port);
    if (!ahead) {
      locator.setConsumerWindowSize(0);
    }
    // What a transaction sends needs no answers of its own: its commit has one.
    locator.setBlockOnDurableSend(!transacted);
    factory = locator.createSessionFactory();
    session = factory.createSession(!transacted, !transacted, 0);
    create();
    producer = session.createProducer(queue);
    session.start();
  }

  private void create() throws Exception {
    synchronized (ArtemisClient.class) {
      if (!session.queueQuery(SimpleString.of(queue)).isExists()) {
        session.createQueue(QueueConfiguration.of(queue).setRoutingType(RoutingType.ANYCAST));
      }
    }
  }

  @Override
  public void put(int messages) throws Exception {
    for (int i = 0; i < messages; i++) {
      putOne(BODY);
    }
    session.commit();
  }

  @Override
  public void putOne(byte[] body) throws Exception {
    ClientMessage message = session.createMessage(true);
    message.getBodyBuffer().writeBytes(body);
    producer.send(message);
  }

  @Override
  public void get(int messages) throws Exception {
    for (int i = 0; i < messages; i++) {
      if (receive(WITHIN_MS) == null) {
        throw new IllegalStateException("no message came");
      }
      received.acknowledge();
    }
    session.commit();
  }

  @Override
  public byte[] receive(int withinMs) throws Exception {
    if (consumer == null) {
      consumer = session.createConsumer(queue);
    }
    received = consumer.receive(withinMs);
    if (received == null) {
      return null;
    }
    byte[] body = new byte[received.getBodySize()];
    received.getBodyBuffer().readBytes(body);
    if (body.length != BODY.length) {
      throw new IllegalStateException("a body of " + body.length + " bytes");
    }
    return body;
  }

  @Override
  public void acknowledge() throws Exception {
    received.acknowledge();
    if (transacted) {
      session.commit();
    }
  }

  @Override
  public void delete() throws Exception {
    session.deleteQueue(queue);
  }

  @Override
  public void close() throws Exception {
    session.close();
    factory.close();
    locator.close();
  }
}
