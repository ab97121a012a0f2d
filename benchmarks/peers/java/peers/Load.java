package peers;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;

/**
 * A process full of clients of a peer: peers.Load PEER PORT KIND MODE QUEUE CLIENTS WARM_UP SECONDS
 * MESSAGES UNIT.
 *
 * <p>PEER: artemis or rabbitmq. KIND: rt for round trips, pg to put everything and then get it.
 * MODE: asked to ask for each message; ahead to be sent messages ahead; pipelined to leave units
 * unconfirmed, too. It connects, works so long to warm up, prints "ready",
 * waits for a line, works, and prints what it did as JSON.
 */
public final class Load {
  /** Units that wait for each client, so that there is something to be sent ahead. */
  private static final int AHEAD = 8;

  private final String peer;
  private final int port;
  private final boolean roundTrips;
  private final String mode;
  private final String queue;
  private final double warmUp;
  private final double seconds;
  private final int messages;
  private final int unit;
  private final CyclicBarrier warm;
  private final CyclicBarrier connected;
  private final CyclicBarrier go;
  private final List<String> work = new ArrayList<>();

  private Load(String[] given, int clients) {
    peer = given[0];
    port = Integer.parseInt(given[1]);
    roundTrips = given[2].equals("rt");
    mode = given[3];
    queue = given[4];
    warmUp = Double.parseDouble(given[6]);
    seconds = Double.parseDouble(given[7]);
    messages = Integer.parseInt(given[8]);
    unit = Integer.parseInt(given[9]);
    warm = new CyclicBarrier(clients);
    connected = new CyclicBarrier(clients + 1);
    go = new CyclicBarrier(clients + 1);
  }

  /** See above. */
  public static void main(String[] given) throws Exception {
    int clients = Integer.parseInt(given[5]);
    var load = new Load(given, clients);
    try (Client client = load.connected()) {
      client.delete();
    }
    var threads = new ArrayList<Thread>();
    for (int i = 0; i < clients; i++) {
      threads.add(new Thread(load::client));
    }
    threads.forEach(Thread::start);
    load.connected.await();
    System.out.println("ready");
    new BufferedReader(new InputStreamReader(System.in)).readLine();
    load.go.await();
    for (Thread thread : threads) {
      thread.join();
    }
    System.out.println(load.work);
    System.exit(0);
  }

  private void client() {
    try {
      // A client that waits for the others keeps what it was sent ahead: so it closes before.
      try (Client client = connected()) {
        work(client, warmUp, messages / 5);
      }
      warm.await();
      try (Client client = connected()) {
        if (roundTrips) {
          client.put(AHEAD * 2);
          client.flush();
        }
        connected.await();
        go.await();
        long began = System.nanoTime();
        int count = work(client, seconds, messages);
        note(count, (System.nanoTime() - began) / 1e9);
      }
    } catch (Exception problem) {
      problem.printStackTrace();
      System.exit(1);
    }
  }

  private int work(Client client, double seconds, int messages) throws Exception {
    return roundTrips ? roundTrips(client, seconds) : putThenGet(client, messages);
  }

  private Client connected() throws Exception {
    boolean ahead = !mode.equals("asked");
    if (peer.equals("artemis")) {
      return new ArtemisClient(port, queue, ahead, true);
    }
    int units = AHEAD * (roundTrips ? 2 : unit);
    return new RabbitClient(port, queue, ahead ? units : 0, mode.equals("pipelined") ? units : 1);
  }

  private static int roundTrips(Client client, double seconds) throws Exception {
    long until = System.nanoTime() + (long) (seconds * 1e9);
    int count = 0;
    while (System.nanoTime() < until) {
      client.put(2);
      client.get(2);
      count++;
    }
    return count;
  }

  private int putThenGet(Client client, int messages) throws Exception {
    for (int put = 0; put < messages; put += unit) {
      client.put(unit);
    }
    client.flush();
    for (int got = 0; got < messages; got += unit) {
      client.get(unit);
    }
    return messages;
  }

  private synchronized void note(int count, double took) {
    work.add("{\"count\":" + count + ",\"seconds\":" + took + ",\"put_commit_ms\":[]}");
  }
}
