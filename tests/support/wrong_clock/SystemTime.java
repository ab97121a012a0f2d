package org.apache.kafka.common.utils;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.apache.kafka.common.errors.TimeoutException;

/**
 * Kafka's clock, off by as many milliseconds as a file says, from one moment to the next. It stands
 * before Kafka's own class of this name on the class path of a broker that is to have a wrong clock.
 */
class SystemTime implements Time {
    private static final SystemTime SYSTEM_TIME = new SystemTime();
    private static final Path OFFSET = Path.of(System.getProperty("mqk.clock.offset"));
    private static final long LOOK_NS = 10_000_000;

    private volatile long offsetMs = 0;
    private volatile long lookedNs = System.nanoTime() - LOOK_NS;

    public static SystemTime getSystemTime() {
        return SYSTEM_TIME;
    }

    @Override
    public long milliseconds() {
        long nowNs = System.nanoTime();
        if (nowNs - lookedNs >= LOOK_NS) {
            lookedNs = nowNs;
            try {
                offsetMs = Long.parseLong(Files.readString(OFFSET).trim());
            } catch (IOException problem) {
                throw new IllegalStateException(problem);
            }
        }
        return System.currentTimeMillis() + offsetMs;
    }

    @Override
    public long nanoseconds() {
        return System.nanoTime();
    }

    @Override
    public void sleep(long ms) {
        Utils.sleep(ms);
    }

    @Override
    public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs)
            throws InterruptedException {
        synchronized (object) {
            while (!condition.get()) {
                long left = deadlineMs - milliseconds();
                if (left <= 0) {
                    throw new TimeoutException("Condition not satisfied before deadline");
                }
                object.wait(left);
            }
        }
    }
}
