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

/** Artemis, by its own protocol: units are transactions, and a commit is waited for. */
final class ArtemisClient implements Client {
  private final String queue;
  private final ServerLocator locator;
  private final ClientSessionFactory factory;
  private final ClientSession session;
  private final ClientProducer producer;
  private final ClientConsumer consumer;

  /** ahead: with the window of 1 MiB that is Artemis's default; else nothing is sent unasked. */
  ArtemisClient(int port, String queue, boolean ahead) throws Exception {
    this.queue = queue;
    locator = ActiveMQClient.createServerLocator("tcp://127.0.0.1:" + port);
    if (!ahead) {
      locator.setConsumerWindowSize(0);
    }
    // What a transaction sends needs no answers of its own: its commit has one.
    locator.setBlockOnDurableSend(false);
    factory = locator.createSessionFactory();
    session = factory.createSession(false, false);
    create();
    producer = session.createProducer(queue);
    consumer = session.createConsumer(queue);
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
      ClientMessage message = session.createMessage(true);
      message.getBodyBuffer().writeBytes(BODY);
      producer.send(message);
    }
    session.commit();
  }

  @Override
  public void get(int messages) throws Exception {
    for (int i = 0; i < messages; i++) {
      ClientMessage message = consumer.receive(WITHIN_MS);
      byte[] body = new byte[message.getBodySize()];
      message.getBodyBuffer().readBytes(body);
      if (body.length != BODY.length) {
        throw new IllegalStateException("a body of " + body.length + " bytes");
      }
      message.acknowledge();
    }
    session.commit();
  }

  @Override
  public void delete() throws Exception {
    consumer.close();
    session.deleteQueue(queue);
  }

  @Override
  public void close() throws Exception {
    session.close();
    factory.close();
    locator.close();
  }
}
