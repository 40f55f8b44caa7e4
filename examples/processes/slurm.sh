#!/bin/sh
# slurm.sh: a job for Slurm, sbatch examples/processes/slurm.sh, from the folder of kaeru. Two minutes before its time is over,
# the run saves and ends, and the job goes back to the queue until all steps are taken.
#SBATCH --job-name=gpt --ntasks=8 --time=24:00:00 --output=gpt.log --open-mode=append
#SBATCH --signal=B:TERM@120 --requeue

. examples/processes/signals.sh
resume=''
[ ! -e out/gpt_last.safetensors ] || resume=--resume
pass_signals mpirun build/examples/gpt train --shards 8 --steps 100000 $resume
status=$?
[ $status -ne 75 ] || scontrol requeue "$SLURM_JOB_ID"
exit $status
