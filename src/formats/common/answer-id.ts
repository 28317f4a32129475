/** Ids of answers. */

/** The upstream's id under the dialect's prefix, so that the call can be found by it at both sides. */
export function answerId(prefix: string, id: string): string {
  if (id.startsWith(prefix)) return id
  return `${prefix}${id || crypto.randomUUID().replaceAll('-', '')}`
}
