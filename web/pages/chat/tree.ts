/** The messages of a conversation are a tree: which branch of it is shown, and what else there is beside it. */
import type { ConversationMessage } from '../../api/schema.d.ts'
import { groupBy } from '../../lib/group-by.ts'

/** A question or an answer. */
export type Message = ConversationMessage

/** One message of the branch that is shown. */
export interface Step {
  readonly message: Message
  /** Answers of several models to one question, with the message itself; of a question it alone. */
  readonly beside: readonly Message[]
  /** What else was asked, or answered, at this place, the one shown included: of answers side by side one. */
  readonly variants: readonly Message[]
  /** Which of them is shown, from 0. */
  readonly at: number
}

/** true = the answer goes on. */
export const isRunning = ({ status }: Message): boolean => status === 'running' || status === 'stopping'

/** Answers that were asked for together are one variant. */
const variantOf = ({ id, content }: Message): string => content.group ?? id

/** From the first message to the one of this id; the latest branch where there is no such message. */
export function branchTo(messages: readonly Message[], id: string | null): Step[] {
  const byId = new Map(messages.map(one => [one.id, one]))
  const byParent = groupBy(messages, one => one.parent_id)
  const steps: Step[] = []
  const seen = new Set<string>()
  let message = byId.get(id ?? '') ?? byId.get(latestBelow(messages, null) ?? '')
  while (message && !seen.has(message.id)) {
    seen.add(message.id)
    const groups = [...groupBy(byParent.get(message.parent_id) ?? [], variantOf).values()]
    const at = groups.findIndex(group => group.includes(message!))
    const variants = groups.map(group => group.find(one => byParent.has(one.id)) ?? group[0]!)
    steps.push({ message, beside: groups[at]!, variants, at })
    message = byId.get(message.parent_id ?? '')
  }
  return steps.reverse()
}

/** The end of the latest branch below a message, or below the beginning; null = there are no messages. */
export function latestBelow(messages: readonly Message[], id: string | null): string | null {
  const byParent = groupBy(messages, one => one.parent_id)
  let last = id
  for (const seen = new Set<string>(); ; ) {
    const children = byParent.get(last)
    if (!children || seen.has(children[0]!.id)) return last
    seen.add(children[0]!.id)
    const latest = variantOf(children.at(-1)!)
    const group = children.filter(one => variantOf(one) === latest)
    // Of two answers side by side the one that was gone on from.
    last = (group.find(one => byParent.has(one.id)) ?? group[0]!).id
  }
}
