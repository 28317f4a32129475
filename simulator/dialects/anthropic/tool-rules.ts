/** What Anthropic refuses of tools, their results and efforts (API reference, "Messages"; its own error messages). */
import { isJsonObject, objectsOf } from '../../lib/json.ts'
import type { JsonObject } from '../../lib/json.ts'
import { ApiError } from '../response.ts'

const nameCharactersMax = 128
const efforts = ['low', 'medium', 'high', 'xhigh', 'max']

/** Throws ApiError for names of tools, efforts, and calls and results that do not belong together. */
export function checkTools(body: JsonObject, messages: readonly JsonObject[]): void {
  for (const [at, tool] of objectsOf(body.tools).entries())
    if (tool.type === undefined || tool.type === 'custom') checkName(tool.name, `tools.${at}.custom.name`)
  const effort = isJsonObject(body.output_config) ? body.output_config.effort : undefined
  if (effort !== undefined && effort !== null && !efforts.includes(effort as string)) {
    const words = efforts.map(word => `'${word}'`)
    throw new ApiError(`output_config.effort: Input should be ${words.slice(0, -1).join(', ')} or ${words.at(-1)!}`)
  }
  const thread = isJsonObject(body.thread) ? body.thread : {}
  checkResults(messages, thread.type === 'continue')
}

function checkName(name: unknown, place: string): void {
  if (typeof name !== 'string') throw new ApiError(`${place}: Field required`)
  if (name.length > nameCharactersMax)
    throw new ApiError(`${place}: String should have at most ${nameCharactersMax} characters`)
  if (!/^[a-zA-Z0-9_-]+$/.test(name))
    throw new ApiError(`${place}: String should match pattern '^[a-zA-Z0-9_-]{1,${nameCharactersMax}}$'`)
}

const idsOf = (message: JsonObject | undefined, type: string, field: string): unknown[] =>
  objectsOf(message?.content)
    .filter(block => block.type === type)
    .map(block => block[field])

/** What goes before in a thread is not sent again: the first turn's calls are not known here. */
function checkResults(messages: readonly JsonObject[], continues: boolean): void {
  // Messages of one role that follow each other are one turn.
  const turns: JsonObject[] = []
  for (const message of messages) {
    const last = turns.at(-1)
    const content = typeof message.content === 'string' ? [] : objectsOf(message.content)
    if (last?.role === message.role) last!.content = [...objectsOf(last!.content), ...content]
    else turns.push({ role: message.role, content })
  }
  for (const [at, turn] of turns.entries()) {
    const calls = idsOf(turns[at - 1], 'tool_use', 'id')
    const results = idsOf(turn, 'tool_result', 'tool_use_id')
    const stray = continues && at === 0 ? undefined : results.find(id => !calls.includes(id))
    if (stray !== undefined)
      throw new ApiError(
        `messages.${at}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(stray)}. ` +
          'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
      )
    const missing = idsOf(turn, 'tool_use', 'id').filter(
      id => !idsOf(turns[at + 1], 'tool_result', 'tool_use_id').includes(id),
    )
    if (missing.length > 0)
      throw new ApiError(
        `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
          `${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in ` +
          'the next message.',
      )
  }
}
