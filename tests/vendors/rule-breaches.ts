/** What was sent against a rule of the tables in `rules/`: read anew from the body, not by the code that obeys them. */
import { isObject, objectsOf } from '../../src/lib/json/json-values.ts'
import type { Json } from '../../src/lib/json/json-values.ts'
import type { ChatRule, FieldRule, ResponsesRule } from '../../rules/chat.ts'
import { claudeRule } from '../../rules/claude.ts'
import { cohereThinks } from '../../rules/cohere.ts'
import { geminiThinking } from '../../rules/gemini.ts'
import { hostRule, hostRules } from '../../rules/hosts.ts'
import { mistralReasoning } from '../../rules/mistral.ts'
import { openaiRule } from '../../rules/openai.ts'
import type { Capture } from './capture.ts'

const objectOf = (value: unknown): Json => (isObject(value) ? value : {})

/** Each breach in words; undefined = no table has a rule for this body. */
export function ruleBreaches({ provider, model, path, body: sent }: Capture): string[] | undefined {
  const body = objectOf(sent)
  const [at = ''] = path.split('?')
  if (at.endsWith('/messages') || at.endsWith('awPredict')) return claudeBreaches(model, messagesCall(body))
  if (/\/converse(?:-stream)?$/.test(at))
    return model.includes('claude') ? claudeBreaches(model, converseCall(body)) : undefined
  if (/:(?:stream)?generateContent$/i.test(at)) return geminiBreaches(model, body)
  if (provider === 'cohere') return !cohereThinks(model) && 'thinking' in body ? ['thinking'] : []
  if (provider === 'mistral') return mistralBreaches(model, body)
  if (at.endsWith('/responses')) return responsesBreaches(hostRules[provider]?.responses, body)
  if (!at.endsWith('/chat/completions')) return undefined
  const ended = hostRules[provider]?.chatEndedOn
  if (ended !== undefined) return [`chat, which ended on ${ended}`]
  const isOpenai = provider === 'openai' || provider === 'azure'
  const rule = isOpenai ? openaiRule(model) : hostRule(provider, model)
  return rule && chatBreaches(rule, body)
}

function responsesBreaches(rule: ResponsesRule | undefined, body: Json): string[] | undefined {
  if (!rule) return undefined
  const { effort, ...others } = objectOf(body.reasoning)
  const plain = new Set(['input_text', 'input_image'])
  const parts = objectsOf(body.input).flatMap(({ content, output }) => [...objectsOf(content), ...objectsOf(output)])
  return [
    ...rule.unsupported.filter(name => name in body),
    ...(rule.chatFormat && 'text' in body ? ['text'] : []),
    ...(rule.toolChoice === false && 'tool_choice' in body ? ['tool_choice'] : []),
    ...(effort === undefined || rule.efforts.includes(String(effort)) ? [] : [`reasoning.effort ${String(effort)}`]),
    ...Object.keys(others).map(name => `reasoning.${name}`),
    ...(rule.plainInput ? parts.filter(({ type }) => !plain.has(String(type))).map(({ type }) => String(type)) : []),
  ]
}

function fieldBreaches({ unsupported = [], onlyAt = {} }: FieldRule, body: Json): string[] {
  const others = Object.entries(onlyAt).filter(([name, value]) => name in body && body[name] !== value)
  return [...unsupported.filter(name => name in body), ...others.map(([name]) => name)]
}

function chatBreaches(rule: ChatRule, body: Json): string[] {
  const { rename = {}, messageFields = [], messageRename = {}, toolFields = [], efforts } = rule
  const effort = body.reasoning_effort ?? rule.defaultEffort
  const isReasoning = rule.whileReasoning !== undefined && effort !== 'none'
  const format = objectOf(body.response_format)
  return [
    ...fieldBreaches(rule, body),
    ...(isReasoning ? fieldBreaches(rule.whileReasoning!, body).map(name => `${name} while reasoning`) : []),
    ...Object.keys(rename).filter(name => name in body),
    ...membersOf(body.messages, [...messageFields, ...Object.keys(messageRename)]).map(name => `messages.${name}`),
    ...membersOf(body.tools, toolFields).map(name => `tools.${name}`),
    ...(efforts && 'reasoning_effort' in body && !efforts.includes(String(body.reasoning_effort))
      ? [`reasoning_effort ${String(body.reasoning_effort)}`]
      : []),
    ...(rule.formatBesideTools === false && String(format.type).startsWith('json') && objectsOf(body.tools).length > 0
      ? ['response_format beside tools']
      : []),
    ...(rule.schemas === false && format.type === 'json_schema' ? ['response_format json_schema'] : []),
  ]
}

/** Which of the paths (`name`, `content.name`, lists left out) the value has. */
function membersOf(value: unknown, paths: readonly string[]): string[] {
  const has = (one: unknown, [name = '', ...below]: readonly string[]): boolean => {
    if (Array.isArray(one)) return one.some(item => has(item, [name, ...below]))
    return isObject(one) && name in one && (below.length === 0 || has(one[name], below))
  }
  return paths.filter(path => has(value, path.split('.')))
}

/** A call of a Claude, in one form for all clouds. */
interface ClaudeCall {
  readonly thinking: string | undefined
  readonly effort: unknown
  readonly samples: boolean
  readonly forcesTool: boolean
  readonly endsWithAssistant: boolean
}

function messagesCall(body: Json): ClaudeCall {
  const choice = objectOf(body.tool_choice).type
  const thinking = objectOf(body.thinking).type
  return {
    thinking: typeof thinking === 'string' ? thinking : undefined,
    effort: objectOf(body.output_config).effort,
    samples: ['temperature', 'top_p', 'top_k'].some(name => name in body),
    forcesTool: choice === 'any' || choice === 'tool',
    endsWithAssistant: objectsOf(body.messages).at(-1)?.role === 'assistant',
  }
}

function converseCall(body: Json): ClaudeCall {
  const more = objectOf(body.additionalModelRequestFields)
  const choice = objectOf(objectOf(body.toolConfig).toolChoice)
  const inference = objectOf(body.inferenceConfig)
  return {
    ...messagesCall({ ...more, messages: body.messages }),
    samples: 'temperature' in inference || 'topP' in inference || 'top_k' in more,
    forcesTool: 'any' in choice || 'tool' in choice,
  }
}

function claudeBreaches(model: string, call: ClaudeCall): string[] {
  const rule = claudeRule(model)
  const { thinking, effort } = call
  const thinks = rule.off === 'never' || (rule.thinking as readonly unknown[]).includes(thinking)
  const isRefused = (when: 'always' | 'unless-thinking' | 'never'): boolean =>
    when === 'never' || (when === 'unless-thinking' && thinks)
  // What is off by leaving it out may also be said to be off.
  const isOff = thinking === rule.off || (thinking === 'disabled' && rule.off === 'omit')
  const knowsThinking = thinking === undefined || thinks || isOff
  return [
    ...(knowsThinking ? [] : [`thinking ${thinking}`]),
    ...(effort === undefined || (rule.efforts as readonly unknown[]).includes(effort) ? [] : ['output_config.effort']),
    ...(call.samples && isRefused(rule.sampling) ? ['sampling'] : []),
    ...(call.forcesTool && isRefused(rule.forcedTools) ? ['a forced tool'] : []),
    ...(call.endsWithAssistant && !rule.prefill ? ['a prefix of the answer'] : []),
  ]
}

function geminiBreaches(model: string, body: Json): string[] {
  const config = objectOf(body.generationConfig).thinkingConfig
  if (!isObject(config)) return []
  const rule = geminiThinking(model)
  const { thinkingLevel: level, thinkingBudget: budget } = config
  if (rule.by === 'nothing') return ['thinkingConfig']
  if (rule.by === 'level')
    return [
      ...(level !== undefined && !(rule.levels as readonly string[]).includes(String(level).toLowerCase())
        ? [`thinkingLevel ${String(level)}`]
        : []),
    ]
  const isOutside = typeof budget === 'number' && budget > 0 && (budget < rule.min || budget > rule.max)
  return [
    ...(level === undefined ? [] : ['thinkingLevel']),
    ...(isOutside || (budget === 0 && !rule.canStop) ? [`thinkingBudget ${budget}`] : []),
  ]
}

function mistralBreaches(model: string, { prompt_mode: mode, reasoning_effort: effort }: Json): string[] {
  const rule = mistralReasoning(model)
  const isWord = rule.by === 'effort' && rule.efforts.includes(String(effort))
  return [
    ...(mode !== undefined && rule.by !== 'prompt-mode' ? ['prompt_mode'] : []),
    ...(effort !== undefined && !isWord ? ['reasoning_effort'] : []),
  ]
}
