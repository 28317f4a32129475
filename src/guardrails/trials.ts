/** Tries a guardrail on a sample, as a call would. */
import type { CallGuards } from './call-guards.ts'
import type { BudgetCheck } from '../core/tenancy/budget-check.ts'
import { GatewayError } from '../core/errors.ts'
import type { GuardrailOutcome } from '../core/guardrails.ts'
import type { GuardrailTrials, GuardrailSample, GuardrailTrial } from '../core/guardrails.ts'
import { GuardedCall, scannerOf } from './guarded-call.ts'
import type { GuardedSubject } from './guarded-call.ts'
import { replaced } from './text-filter.ts'

/**
 * The trials of these guardrails. Rejects with `overloaded` where a service does not answer, with `budget-exceeded`
 * before a model is asked for a caller whose budget is spent.
 */
export function createTrials(guardrails: CallGuards, budgets: BudgetCheck): GuardrailTrials {
  return {
    async tryOut({ guardrail: settings, text, stage, prompt = '' }: GuardrailSample, caller, { id }) {
      const guardrail = guardrails.guardrail({ ...settings, modes: ['pre_call', 'during_call', 'post_call'] })
      const subject: GuardedSubject = { id, model: '', caller, guardrailOutcomes: undefined }
      if (guardrail.check.isPaid) await budgets.ofCaller(caller)
      const guarded = new GuardedCall(subject, [guardrail], {
        nowMs: () => performance.now(),
        checkBudgets: () => Promise.resolve(),
      })
      const outcome = (): GuardrailOutcome => subject.guardrailOutcomes![0]!
      try {
        const changed = await judged(guarded, { text, stage, prompt })
        return trialOf(outcome(), changed)
      } catch (error) {
        if (!(error instanceof GatewayError) || error.kind !== 'content-policy') throw error
        return trialOf(outcome(), text, error.message)
      }
    },
  }
}

async function judged(
  guarded: GuardedCall,
  { text, stage, prompt }: Required<Pick<GuardrailSample, 'text' | 'stage'>> & { prompt: string },
): Promise<string> {
  const mode = stage === 'input' ? 'pre_call' : 'post_call'
  const scanner = scannerOf(guarded.guardrails, mode)
  const searched = scanner
    ? replaced(text, scanner, (finding, found) =>
        stage === 'input' ? guarded.replaceInput(finding, found) : guarded.replaceOutput(finding),
      )
    : text
  const judges = guarded.judgesOf(mode)
  if (judges.length === 0) return searched
  const said = { stage, texts: [searched], contents: [searched], prompt: stage === 'input' ? searched : prompt }
  return (await guarded.judge(judges, said))[0]!
}

const trialOf = ({ verdict, found }: GuardrailOutcome, text: string, reason?: string): GuardrailTrial => ({
  verdict,
  text,
  reason,
  found: Object.fromEntries(found),
})
