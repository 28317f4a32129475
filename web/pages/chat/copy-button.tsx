import { Check, Copy } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { useCopy } from '../../lib/copy.ts'
import { t } from '../../strings/index.ts'

/** Copies a message. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const { copied, copy } = useCopy()
  return (
    <Button
      kind="quiet"
      icon={copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      aria-label={copied ? t('all.copied') : label}
      title={label}
      onClick={() => void copy(text)}
    />
  )
}
