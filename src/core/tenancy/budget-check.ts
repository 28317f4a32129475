import type { Call } from '../call.ts'
import type { Caller } from '../caller.ts'

/** Whether there is money left, asked before others are paid for looking at a call. Nothing is taken. */
export interface BudgetCheck {
  /** Rejects with `budget-exceeded` where the budgets of the call have no room for the least that it may cost. */
  ofCall(call: Call): Promise<void>
  /** The same where a budget of the caller is spent. */
  ofCaller(caller: Caller): Promise<void>
}
