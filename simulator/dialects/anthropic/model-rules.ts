/** What each Claude refuses, by the tables of `rules/`, in Anthropic's words; of other models nothing is known. */
import { knownClaudeRule } from '../../../rules/claude.ts'
import type { ClaudeEffort, ClaudeRule } from '../../../rules/claude.ts'
import { isJsonObject } from '../../lib/json.ts'
import type { JsonObject } from '../../lib/json.ts'
import { ApiError } from '../response.ts'

/** Throws ApiError for what the model of the request does not take. */
export function checkModel(body: JsonObject, messages: readonly JsonObject[]): void {
  const rule = knownClaudeRule(String(body.model))
  if (!rule) return
  checkSampling(body, rule)
  checkThinking(body, rule)
  const { tool_choice: choice, output_config: config } = body
  if (rule.forcedTools === 'never' && isJsonObject(choice) && (choice.type === 'any' || choice.type === 'tool'))
    throw new ApiError('tool_choice: type "tool" and "any" are not supported for this model.')
  const effort = isJsonObject(config) ? config.effort : undefined
  if (effort !== undefined && rule.efforts.length === 0)
    throw new ApiError('This model does not support the effort parameter.')
  if (effort !== undefined && !rule.efforts.includes(effort as ClaudeEffort))
    throw new ApiError(`output_config.effort: "${String(effort)}" is not supported for this model.`)
  if (!rule.prefill && messages.at(-1)?.role === 'assistant')
    throw new ApiError(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    )
}

function checkSampling(body: JsonObject, { sampling }: ClaudeRule): void {
  if (sampling !== 'never') return
  for (const name of ['temperature', 'top_p', 'top_k'])
    if (body[name] !== undefined && body[name] !== 1) throw new ApiError(`\`${name}\` is deprecated for this model.`)
}

function checkThinking({ thinking, tool_choice: choice }: JsonObject, rule: ClaudeRule): void {
  if (!isJsonObject(thinking)) return
  const { type } = thinking
  const isTaken =
    type === 'disabled'
      ? rule.off === 'disabled' || rule.off === 'omit'
      : type === 'between_tools'
        ? rule.off === 'between_tools'
        : rule.thinking.includes(type as ClaudeRule['thinking'][number])
  if (!isTaken)
    throw new ApiError(
      `"thinking.type.${String(type)}" is not supported for this model. Use "thinking.type.adaptive" and ` +
        '"output_config.effort" to control thinking behavior.',
    )
  const forces = isJsonObject(choice) && (choice.type === 'any' || choice.type === 'tool')
  if (forces && type !== 'disabled' && rule.forcedTools === 'unless-thinking')
    throw new ApiError('Thinking may not be enabled when tool_choice forces tool use.')
}
