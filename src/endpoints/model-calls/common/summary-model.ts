/** Who writes the summary of a conversation that is compacted. */
import type { CallInAdmission } from '../../../core/call.ts'

/** The configured model, where the caller may be served by it; else the call's own. */
export function summaryModel({ models, caller, model }: Pick<CallInAdmission, 'models' | 'caller' | 'model'>): string {
  const configured = models.settings.compactionModel
  return configured !== undefined && models.of(caller).resolve(configured).length > 0 ? configured : model
}
