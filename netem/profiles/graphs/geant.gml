# GEANT, which connects Europe's research networks, August 2010: 37 countries, 56 links. Source:
# www.geant.net (its topology map), as recorded in the Internet Topology Zoo (S. Knight et al., IEEE
# JSAC 29(9), 2011). The map has no rate for lit fibre: 10 Gbit/s, one wavelength, is taken, and
# twice that where two lie side by side. Delays are computed from the coordinates: light in a
# straight fibre, so real ones are longer.
graph [
  label "GEANT"
  node [
    id 0
    label "Netherlands"
    Latitude 52.37403
    Longitude 4.88969
  ]
  node [
    id 1
    label "Belgium"
    Latitude 50.85045
    Longitude 4.34878
  ]
  node [
    id 2
    label "Denmark"
    Latitude 55.67594
    Longitude 12.56553
  ]
  node [
    id 3
    label "Poland"
    Latitude 52.41667
    Longitude 16.96667
  ]
  node [
    id 4
    label "Germany"
    Latitude 50.11667
    Longitude 8.68333
  ]
  node [
    id 5
    label "Czech Republic"
    Latitude 50.08804
    Longitude 14.42076
  ]
  node [
    id 6
    label "Luxembourg"
    Latitude 49.61167
    Longitude 6.13
  ]
  node [
    id 7
    label "France"
    Latitude 48.85341
    Longitude 2.3488
  ]
  node [
    id 8
    label "Switzerland"
    Latitude 46.94809
    Longitude 7.44744
  ]
  node [
    id 9
    label "Italy"
    Latitude 45.46427
    Longitude 9.18951
  ]
  node [
    id 10
    label "Bulgaria"
    Latitude 42.69751
    Longitude 23.32415
  ]
  node [
    id 11
    label "Romania"
    Latitude 44.43225
    Longitude 26.10626
  ]
  node [
    id 12
    label "Turkey"
    Latitude 39.05901
    Longitude 34.91155
  ]
  node [
    id 13
    label "Greece"
    Latitude 37.97945
    Longitude 23.71622
  ]
  node [
    id 14
    label "Cyprus"
    Latitude 35.16667
    Longitude 33.36667
  ]
  node [
    id 15
    label "Israel"
    Latitude 31.5
    Longitude 34.75
  ]
  node [
    id 16
    label "Malta"
    Latitude 35.90917
    Longitude 14.42556
  ]
  node [
    id 17
    label "North Macedonia"
    Latitude 42.0
    Longitude 21.43333
  ]
  node [
    id 18
    label "Montenegro"
    Latitude 42.44111
    Longitude 19.26361
  ]
  node [
    id 19
    label "Hungary"
    Latitude 47.49801
    Longitude 19.03991
  ]
  node [
    id 20
    label "Slovakia"
    Latitude 48.14816
    Longitude 17.10674
  ]
  node [
    id 21
    label "Portugal"
    Latitude 38.71667
    Longitude -9.13333
  ]
  node [
    id 22
    label "Spain"
    Latitude 40.4165
    Longitude -3.70256
  ]
  node [
    id 23
    label "Serbia"
    Latitude 44.80401
    Longitude 20.46513
  ]
  node [
    id 24
    label "Croatia"
    Latitude 45.81444
    Longitude 15.97798
  ]
  node [
    id 25
    label "Slovenia"
    Latitude 46.05108
    Longitude 14.50513
  ]
  node [
    id 26
    label "Austria"
    Latitude 48.20849
    Longitude 16.37208
  ]
  node [
    id 27
    label "Lithuania"
    Latitude 54.9
    Longitude 23.9
  ]
  node [
    id 28
    label "Russia"
    Latitude 55.75222
    Longitude 37.61556
  ]
  node [
    id 29
    label "Iceland"
    Latitude 64.13548
    Longitude -21.89541
  ]
  node [
    id 30
    label "Ireland"
    Latitude 53.34399
    Longitude -6.26719
  ]
  node [
    id 31
    label "United Kingdom"
    Latitude 51.50853
    Longitude -0.12574
  ]
  node [
    id 32
    label "Norway"
    Latitude 62.0
    Longitude 10.0
  ]
  node [
    id 33
    label "Sweden"
    Latitude 59.33258
    Longitude 18.0649
  ]
  node [
    id 34
    label "Finland"
    Latitude 60.45148
    Longitude 22.26869
  ]
  node [
    id 35
    label "Estonia"
    Latitude 59.43696
    Longitude 24.75353
  ]
  node [
    id 36
    label "Latvia"
    Latitude 56.946
    Longitude 24.10589
  ]
  edge [
    source 0
    target 1
    rate "10gbit"
  ]
  edge [
    source 0
    target 2
    rate "10gbit"
  ]
  edge [
    source 0
    target 4
    rate "10gbit"
  ]
  edge [
    source 1
    target 31
    rate "10gbit"
  ]
  edge [
    source 2
    target 33
    rate "10gbit"
  ]
  edge [
    source 2
    target 35
    rate "10gbit"
  ]
  edge [
    source 2
    target 4
    rate "10gbit"
  ]
  edge [
    source 2
    target 32
    rate "10gbit"
  ]
  edge [
    source 2
    target 28
    rate "10gbit"
  ]
  edge [
    source 2
    target 29
    rate "10gbit"
  ]
  edge [
    source 3
    target 27
    rate "10gbit"
  ]
  edge [
    source 3
    target 4
    rate "10gbit"
  ]
  edge [
    source 3
    target 5
    rate "10gbit"
  ]
  edge [
    source 4
    target 5
    rate "10gbit"
  ]
  edge [
    source 4
    target 6
    rate "10gbit"
  ]
  edge [
    source 4
    target 8
    rate "10gbit"
  ]
  edge [
    source 4
    target 15
    rate "2500mbit"
  ]
  edge [
    source 4
    target 26
    rate "10gbit"
  ]
  edge [
    source 4
    target 28
    rate "10gbit"
  ]
  edge [
    source 5
    target 20
    rate "10gbit"
  ]
  edge [
    source 6
    target 7
    rate "10gbit"
  ]
  edge [
    source 7
    target 8
    rate "10gbit"
  ]
  edge [
    source 7
    target 22
    rate "10gbit"
  ]
  edge [
    source 7
    target 31
    rate "10gbit"
  ]
  edge [
    source 8
    target 9
    rate "10gbit"
  ]
  edge [
    source 8
    target 22
    rate "10gbit"
  ]
  edge [
    source 9
    target 13
    rate "10gbit"
  ]
  edge [
    source 9
    target 14
    rate "155mbit"
  ]
  edge [
    source 9
    target 16
    rate "1gbit"
  ]
  edge [
    source 9
    target 22
    rate "10gbit"
  ]
  edge [
    source 9
    target 26
    rate "10gbit"
  ]
  edge [
    source 10
    target 11
    rate "10gbit"
  ]
  edge [
    source 10
    target 17
    rate "10gbit"
  ]
  edge [
    source 10
    target 19
    rate "10gbit"
  ]
  edge [
    source 10
    target 12
    rate "10gbit"
  ]
  edge [
    source 10
    target 13
    rate "10gbit"
  ]
  edge [
    source 11
    target 19
    rate "10gbit"
  ]
  edge [
    source 11
    target 12
    rate "10gbit"
  ]
  edge [
    source 13
    target 26
    rate "10gbit"
  ]
  edge [
    source 13
    target 14
    rate "155mbit"
  ]
  edge [
    source 15
    target 31
    rate "2500mbit"
  ]
  edge [
    source 18
    target 24
    rate "10gbit"
  ]
  edge [
    source 19
    target 24
    rate "10gbit"
  ]
  edge [
    source 19
    target 20
    rate "10gbit"
  ]
  edge [
    source 19
    target 23
    rate "10gbit"
  ]
  edge [
    source 20
    target 26
    rate "10gbit"
  ]
  edge [
    source 21
    target 22
    rate "10gbit"
  ]
  edge [
    source 21
    target 31
    rate "2500mbit"
  ]
  edge [
    source 24
    target 25
    rate "10gbit"
  ]
  edge [
    source 25
    target 26
    rate "10gbit"
  ]
  edge [
    source 27
    target 36
    rate "10gbit"
  ]
  edge [
    source 29
    target 31
    rate "2500mbit"
  ]
  edge [
    source 30
    target 31
    rate "20gbit"
  ]
  edge [
    source 32
    target 33
    rate "10gbit"
  ]
  edge [
    source 33
    target 34
    rate "20gbit"
  ]
  edge [
    source 35
    target 36
    rate "10gbit"
  ]
]
