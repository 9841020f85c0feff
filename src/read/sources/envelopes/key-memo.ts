/** The number of remembered keys, and their most characters. */
const most = 512;
const longest = 256;

/** Remembers what `find` returns for a key, because all records of a log have the same few keys. */
export function createKeyMemo<Value>(find: (key: string) => Value): (key: string) => Value {
  const known = new Map<string, Value>();
  return (key) => {
    let value = known.get(key);
    if (value !== undefined) return value;
    value = find(key);
    if (known.size >= most) known.clear();
    if (key.length <= longest) known.set(key, value);
    return value;
  };
}
