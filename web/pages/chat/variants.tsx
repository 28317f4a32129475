import { ChevronLeft, ChevronRight } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { t } from '../chat.page.ts'
import type { Step } from './tree.ts'

interface VariantsProps {
  readonly step: Step
  /** Shows the branch of the variant that begins with this message. */
  readonly onShow: (messageId: string) => void
}

/** `< 2 / 3 >`: what else was asked, or answered, at this place. */
export function Variants({ step: { variants, at }, onShow }: VariantsProps) {
  if (variants.length < 2) return null
  const go = (to: number) => () => onShow(variants[to]!.id)
  return (
    <span className="inline-flex items-center">
      <Button
        kind="quiet"
        icon={<ChevronLeft size={16} aria-hidden />}
        aria-label={t('chat.earlier')}
        disabled={at === 0}
        onClick={go(at - 1)}
      />
      <span className="numbers">{t('chat.variant', { number: at + 1, count: variants.length })}</span>
      <Button
        kind="quiet"
        icon={<ChevronRight size={16} aria-hidden />}
        aria-label={t('chat.later')}
        disabled={at === variants.length - 1}
        onClick={go(at + 1)}
      />
    </span>
  )
}
