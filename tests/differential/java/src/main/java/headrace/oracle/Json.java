package headrace.oracle;

import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessAllWindowFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.windows.GlobalWindow;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.streaming.api.windowing.windows.Window;
import org.apache.flink.util.Collector;

/** Values as JSON: lists, texts and numbers. */
public final class Json {

    private Json() {}

    public static String of(Object... items) {
        List<String> parts = new ArrayList<>();
        for (Object item : items) {
            parts.add(one(item));
        }
        return "[" + String.join(", ", parts) + "]";
    }

    private static String one(Object item) {
        if (item instanceof String) {
            return "\"" + item + "\"";
        }
        if (item instanceof List<?> list) {
            return of(list.toArray());
        }
        if (item instanceof Tuple tuple) {
            Object[] fields = new Object[tuple.getArity()];
            for (int i = 0; i < fields.length; i++) {
                fields[i] = tuple.getField(i);
            }
            return of(fields);
        }
        return String.valueOf(item);
    }

    /** The numbers of a window's elements, in their order. */
    public static List<Integer> values(Iterable<Tuple3<String, Integer, Long>> elements) {
        List<Integer> values = new ArrayList<>();
        elements.forEach(element -> values.add(element.f1));
        return values;
    }

    private static Object start(Window window) {
        return window instanceof TimeWindow time ? (Object) time.getStart() : "global";
    }

    /** Key, start of the window, and what it holds. */
    public static final class Contents<W extends Window>
            extends ProcessWindowFunction<Tuple3<String, Integer, Long>, String, String, W> {
        @Override
        public void process(
                String key,
                Context context,
                Iterable<Tuple3<String, Integer, Long>> elements,
                Collector<String> out) {
            out.collect(of(key, start(context.window()), values(elements)));
        }
    }

    /** Start and end of the window of all keys, and what it holds. */
    public static final class AllContents
            extends ProcessAllWindowFunction<
                    Tuple3<String, Integer, Long>, String, GlobalWindow> {
        @Override
        public void process(
                Context context,
                Iterable<Tuple3<String, Integer, Long>> elements,
                Collector<String> out) {
            out.collect(of("all", values(elements)));
        }
    }

    /** A value with its timestamp. */
    public static final class Stamped
            extends ProcessFunction<Tuple3<String, Integer, Long>, String> {
        @Override
        public void processElement(
                Tuple3<String, Integer, Long> value, Context context, Collector<String> out) {
            out.collect(of(value.f0, value.f1, value.f2, context.timestamp()));
        }
    }
}
