/** What a Claude refuses of a request in its own dialect, which is forwarded as the client wrote it. */
import { noFieldRules, refusedField } from '../../core/dialects/field-rules.ts'
import type { FieldRule, FieldRules } from '../../core/dialects/field-rules.ts'
import type { Target } from '../../core/provider.ts'
import { isObject } from '../../lib/json/json-values.ts'
import { knownClaudeRule } from '../../../rules/claude.ts'
import type { ClaudeEffort, ClaudeHostField, ClaudeRule } from '../../../rules/claude.ts'
import { fittedEffort } from '../../../rules/efforts.ts'
import { continueText } from './request.ts'
import { memoizePerTarget } from '../../core/target-cache.ts'

/** Of a model that the table does not know nothing is changed. */
export const claudeFieldRules: (target: Target) => FieldRules = memoizePerTarget(({ model }) => {
  const rule = knownClaudeRule(model)
  return rule ? { fields: fieldsOf(rule), ...(!rule.prefill && { continueText }) } : noFieldRules
})

/** What a host of Claude refuses of Messages although Anthropic takes it, for this model with its betas. */
export function claudeHostRules(
  table: Readonly<Record<string, ClaudeHostField>>,
  { model, options: { anthropic_beta: betas } }: Target,
): ReadonlyMap<string, FieldRule> {
  const isTaken = ({ models, beta }: ClaudeHostField): boolean =>
    models?.test(model.toLowerCase()) === true ||
    (beta !== undefined && typeof betas === 'string' && betas.split(',').some(one => one.trim().startsWith(beta)))
  const refusing = Object.entries(table).filter(([, field]) => !isTaken(field))
  return new Map(refusing.map(([name, { neutral }]) => [name, refusedField(neutral)]))
}

function fieldsOf(rule: ClaudeRule): Map<string, FieldRule> {
  const fields = new Map<string, FieldRule>([
    ['thinking', thinkingRule(rule)],
    ['output_config', effortRule(rule)],
  ])
  if (rule.forcedTools === 'never') fields.set('tool_choice', unforced)
  if (rule.sampling !== 'always')
    for (const [name, neutral] of [['temperature', 1], ['top_p', 1], ['top_k']] as const)
      fields.set(name, rule.sampling === 'never' ? refusedField(neutral) : whileThinking(refusedField(neutral), rule))
  return fields
}

/** Judged where the call, as it is sent, thinks. */
function whileThinking(judge: FieldRule, rule: ClaudeRule): FieldRule {
  const thinkingOf = thinkingRule(rule)
  return (value, read) => {
    const thinking = read('thinking')
    const isRequested = isObject(thinking) && (thinking.type === 'enabled' || thinking.type === 'adaptive')
    return isRequested && thinkingOf(thinking, read) !== 'drop' ? judge(value, read) : 'keep'
  }
}

const isForced = (choice: unknown): boolean => isObject(choice) && (choice.type === 'any' || choice.type === 'tool')

/**
 * A budget becomes thinking as the model sees fit, and "off" its least thinking, where there is one. Where thinking and
 * a forced tool exclude each other, the tool takes precedence.
 */
function thinkingRule({ thinking, off, forcedTools }: ClaudeRule): FieldRule {
  return (value, read) => {
    if (!isObject(value)) return 'keep'
    if (forcedTools === 'unless-thinking' && value.type !== 'disabled' && isForced(read('tool_choice'))) return 'drop'
    switch (value.type) {
      case 'disabled':
        if (off === 'never') return 'drop'
        return off === 'between_tools' ? { value: { type: 'between_tools' } } : 'keep'
      case 'enabled':
        if (thinking.includes('enabled')) return 'keep'
        if (!thinking.includes('adaptive')) return 'drop'
        return { value: withoutBudget(value), lost: 'thinking.budget_tokens' }
      case 'adaptive':
        return thinking.includes('adaptive') ? 'keep' : 'drop'
      default:
        return 'keep'
    }
  }
}

function withoutBudget({ budget_tokens: _, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return { ...rest, type: 'adaptive' }
}

function effortRule({ efforts }: ClaudeRule): FieldRule {
  return value => {
    if (!isObject(value) || typeof value.effort !== 'string' || efforts.includes(value.effort as ClaudeEffort))
      return 'keep'
    const { effort: requestedEffort, ...rest } = value
    const { effort } = fittedEffort(requestedEffort as string, efforts)
    if (effort !== undefined) return { value: { ...rest, effort }, lost: 'output_config.effort' }
    // An empty `output_config` asks for nothing.
    return { value: rest, lost: 'output_config.effort' }
  }
}

/** The model may call the tools; it cannot be made to. */
const unforced: FieldRule = value =>
  isForced(value) ? { value: { ...withoutName(value as Record<string, unknown>), type: 'auto' }, lost: true } : 'keep'

function withoutName({ name: _, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return rest
}
