package peers;

/** One client of a peer, with a connection of its own; used by one thread. */
interface Client extends AutoCloseable {
  byte[] BODY = new byte[2048];
  int WITHIN_MS = 30_000;

  /** Put so many durable messages, and wait until the peer has said that it keeps them. */
  void put(int messages) throws Exception;

  /** Get and acknowledge so many messages as one unit, in the peer's sense of it. */
  void get(int messages) throws Exception;

  /** Put one durable message, and wait until the peer has said that it keeps it. */
  void putOne(byte[] body) throws Exception;

  /** Get one message; null if none comes in time. */
  byte[] receive(int withinMs) throws Exception;

  /** Acknowledge what was received last. */
  void acknowledge() throws Exception;

  /** Delete the queue, with what the clients of earlier measurements left on it. */
  void delete() throws Exception;

  /** Wait for whatever was put and is not confirmed yet. */
  default void flush() throws Exception {}
}
