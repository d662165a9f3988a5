/** What a chain's workers tell the operator. */

/** `note`: for the record. `trouble`: it passes by itself or is worked around. `alarm`: somebody must look. Texts hold no secrets. */
export type Report = (level: 'note' | 'trouble' | 'alarm', text: string) => void;
