/** Text that says to which request, key and position it belongs, so that a single foreign byte shows. */

/** What is asked of the lying upstream, in the text of a prompt. */
export interface Order {
  readonly id: number
  readonly key: number
  /** Name in `lies`. */
  readonly lie: string
  /** Marks in the answer. */
  readonly marks: number
}

const markLength = 8
const markPattern = /~[0-9a-z]{7}/g
const orderPattern = /soak (\d+) (\d+) ([a-z]+) (\d+)\./

export const orderText = ({ id, key, lie, marks }: Order): string => `soak ${id} ${key} ${lie} ${marks}.`

/** Undefined = it is not there, or not all of it yet. */
export function readOrder(text: string): Order | undefined {
  const found = orderPattern.exec(text)
  if (!found) return undefined
  return { id: Number(found[1]), key: Number(found[2]), lie: found[3]!, marks: Number(found[4]) }
}

/** The mark at a position: `~` and seven letters and digits, by a hash of request, key and position. */
export function mark({ id, key }: Order, position: number): string {
  let hash = Math.imul(id + 1, 0x9e3779b1) ^ Math.imul(key + 1, 0x85ebca6b) ^ Math.imul(position + 1, 0xc2b2ae35)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39)
  return `~${((hash ^ (hash >>> 15)) >>> 0).toString(36).padStart(7, '0')}`
}

/** All marks of an answer as one text. */
export function answerText(order: Order): string {
  let text = ''
  for (let at = 0; at < order.marks; at++) text += mark(order, at)
  return text
}

/** Bytes in `heard`, all that a client got for `order`, that belong to another request, key or position. */
export function foreignBytes(heard: string, order: Order): number {
  let foreign = 0
  let position = 0
  for (const [found] of heard.matchAll(markPattern))
    if (found === mark(order, position)) position++
    else foreign += markLength
  return foreign
}

/** Marks in what a client got. */
export const marksIn = (heard: string): number => heard.match(markPattern)?.length ?? 0
